#include "autograd/blas.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/commands/sentences.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/usage_error.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace surd {
namespace {

struct SamplesArguments : RunArguments {
  std::string split = "test";
  std::size_t count = 5;

  void fields(Fields& f) {
    RunArguments::fields(f);
    f("split", split, "split to take them from", Unit{"name"});
    f("count", count, "how many", between(1, 1e6));
  }
};

int samples_command(const SamplesArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  const Corpus corpus = run.config.task.make()->load(run.config.seed);
  const auto& pairs = as_usage([&] { return &corpus.split(arguments.split); })->pairs;
  std::vector<std::vector<TokenId>> sources;
  for (std::size_t i = 0; i < std::min(arguments.count, pairs.size()); ++i)
    sources.push_back(encode(run, pairs[i].source, fmt::format("pair {}", i + 1)));
  const auto hypotheses = decode(run.model.transformer(), sources, translation_options(std::nullopt));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string translation = run.codec.decode_target(hypotheses[i].tokens);
    // The reference as the codec writes it, so that word pieces are joined on both sides.
    const std::string reference = run.codec.decode_target(run.codec.encode_target(pairs[i].target));
    const bool right = translation == reference;
    fmt::print(
        "source       {}\ntranslation  {}  {}\nreference    {}\n\n", run.codec.decode_source(sources[i]), translation,
        styled(right ? "✓" : "✗", right ? Console::Style::green : Console::Style::red, STDOUT_FILENO), reference);
  }
  return exit_done;
}

}  // namespace

void add_samples(CommandTable& table) {
  table.add("samples", "Some translations of a split beside their references", {"run"}, samples_command);
}

}  // namespace surd
