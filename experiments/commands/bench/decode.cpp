#include "autograd/blas.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/bench/bench_arguments.hpp"
#include "experiments/commands/bench/bench_run.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/version.hpp"
#include "experiments/study/statistics/statistics.hpp"
#include "train/decoding.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

struct BenchDecodeArguments : ShapeArguments {
  BenchDecodeArguments() : ShapeArguments("m30k-256", 2) {}
};

/// Decodes with an untrained model, which ends no sentence early.
int bench_decode_command(const BenchDecodeArguments& arguments) {
  blas::initialize();
  const BenchShape& shape = find_bench_shape_with_sources(arguments.shape);
  const BenchRun run(shape, 0, 1);
  const Batch& batch = run.batches.front();
  Json results = Json::array();
  for (const std::size_t beam : {std::size_t{1}, std::size_t{5}}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{64}}) {
      std::vector<std::vector<TokenId>> sources;
      for (std::size_t i = 0; i < size; ++i) {
        const auto first = batch.source.begin() + static_cast<std::ptrdiff_t>(i % batch.size * batch.source_length);
        sources.emplace_back(first, first + static_cast<std::ptrdiff_t>(batch.source_length));
      }
      DecodingArguments options;
      options.beam = beam;
      options.max_length = shape.target_length;
      std::size_t tokens = 0;
      const auto work = [&] {
        tokens = 0;
        for (const Translation& hypothesis : decode(run.model, sources, options)) tokens += hypothesis.tokens.size();
      };
      work();
      const std::vector<double> times = times_of(work, arguments.seconds);
      const double seconds = statistics::median(times);
      results.push_back({{"peer", std::string("surd ") + version()},
                         {"config", shape.name},
                         {"beam", beam},
                         {"batch", size},
                         {"sentences_per_s", rounded(static_cast<double>(size) / seconds, 0.01)},
                         {"tokens_per_s", std::llround(static_cast<double>(tokens) / seconds)},
                         {"rounds", times.size()}});
      if (!arguments.json)
        fmt::print("{} beam {} batch {:>2}: {:>8.1f} sentences/s, {:>9} tokens/s\n", shape.name, beam, size,
                   results.back()["sentences_per_s"].get<double>(),
                   with_commas(results.back()["tokens_per_s"].get<std::uint64_t>()));
    }
  }
  if (arguments.json)
    for (const Json& result : results) fmt::print("{}\n", result.dump());
  return exit_done;
}

}  // namespace

void add_bench_decode(CommandTable& table) {
  table.add("bench decode", "Time greedy and beam search", {}, bench_decode_command);
}

}  // namespace surd
