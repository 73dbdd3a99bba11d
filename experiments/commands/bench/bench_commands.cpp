#include "autograd/blas.hpp"
#include "autograd/pool.hpp"
#include "experiments/commands/bench/bench_measure.hpp"
#include "experiments/commands/bench/bench_products.hpp"
#include "experiments/commands/bench/bench_shape.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/version.hpp"
#include "experiments/run/system_info.hpp"
#include "train/decoding.hpp"
#include "train/optimizers/adam.hpp"
#include "train/updater.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

/// The power of x that y grows as: the slope of log y over log x by least squares.
double exponent(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, covariance = 0, variance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / n;
    mean_y += std::log(y[i]) / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    covariance += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
    variance += (std::log(x[i]) - mean_x) * (std::log(x[i]) - mean_x);
  }
  return covariance / variance;
}

/// A model of a shape and all that an update of it needs.
struct BenchRun {
  BenchRun(const BenchShape& shape, double dropout, std::size_t replicas)
      : scope(parameters, 0),
        model(scope, bench_model_options(shape, dropout), shape.vocabulary, shape.vocabulary),
        optimizer(parameters, AdamOptions()),
        schedule(1, ConstantOptions()),
        training{model, parameters, optimizer, schedule, no_pairs, no_pairs, 0},
        batches{bench_batch(shape, 0)} {
    options.replicas = replicas;
    options.label_smoothing = 0.1;
  }

  ParameterSet parameters;
  Scope scope;
  Transformer model;
  Adam optimizer;
  ConstantSchedule schedule;
  std::vector<SentencePair> no_pairs;
  Training training;
  TrainOptions options;
  std::vector<Batch> batches;
};

void print_profile(const Profile& profile, double total) {
  std::vector<std::pair<std::string, Profile::Seconds>> parts(profile.seconds().begin(), profile.seconds().end());
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second.all() > b.second.all(); });
  fmt::print("{:<26} {:>8} {:>8} {:>8}\n", "share of the step", "forward", "backward", "all");
  const auto share = [&](double seconds) { return seconds > 0 ? fmt::format("{:.1f}%", 100 * seconds / total) : ""; };
  for (const auto& [part, seconds] : parts)
    fmt::print("{:<26} {:>8} {:>8} {:>8}\n", part, share(seconds.forward), share(seconds.backward),
               share(seconds.all()));
}

Json to_json(const Profile& profile, double total) {
  Json json;
  for (const auto& [part, seconds] : profile.seconds())
    json[part] = {{"forward", rounded(seconds.forward / total, 1e-4)},
                  {"backward", rounded(seconds.backward / total, 1e-4)},
                  {"all", rounded(seconds.all() / total, 1e-4)}};
  return json;
}

}  // namespace

int bench_step_command(const BenchStepArguments& arguments) {
  blas::initialize();
  const BenchShape& shape = find_bench_shape(arguments.shape);
  Profile profile;
  BenchRun run(shape, arguments.dropout, arguments.replicas);
  Updater updater(run.training, run.options, arguments.profile ? &profile : nullptr);
  TrainListener listener;
  std::uint64_t update = 0;
  const auto step = [&] { updater.update(run.batches, ++update, 0, listener); };

  for (int i = 0; i < 3; ++i) step();
  const std::size_t memory = peak_memory_bytes();

  // The step and the library's products in turn, so that a change of the machine's speed meets both.
  LibraryProducts products(shape);
  products.run();
  step();  // the products took some of the blocks
  profile.clear();
  const std::size_t requests = pool::statistics().system_requests;
  std::vector<double> steps, products_alone, ratios;
  double profiled = 0;
  for (double elapsed = 0; elapsed < arguments.seconds || steps.size() < 5;) {
    steps.push_back(seconds_of(step));
    products_alone.push_back(seconds_of([&] { products.run(); }));
    ratios.push_back(steps.back() / products_alone.back());
    profiled += steps.back();
    elapsed += steps.back() + products_alone.back();
  }
  const double misses =
      static_cast<double>(pool::statistics().system_requests - requests) / static_cast<double>(steps.size());

  const double seconds = median(steps);
  Json result{{"peer", std::string("surd ") + version()},
              {"config", shape.name},
              {"threads", arguments.replicas},
              {"dropout", arguments.dropout},
              {"params", run.parameters.element_count()},
              {"step_ms", rounded(1e3 * seconds, 1e-3)},
              {"tokens_per_s", std::llround(static_cast<double>(shape.positions()) / seconds)},
              {"gflops", rounded(products.floating_point_operations() / seconds / 1e9, 0.1)},
              {"steps", steps.size()},
              {"library_products_ms", rounded(1e3 * median(products_alone), 1e-3)},
              {"step_over_library_products", rounded(median(ratios), 1e-3)},
              {"peak_memory_bytes", memory},
              {"pool_misses_per_step", misses},
              {"blas", blas::description()}};
  if (arguments.profile) result["profile"] = to_json(profile, profiled);
  if (arguments.json) {
    fmt::print("{}\n", result.dump());
    return exit_done;
  }
  fmt::print("{}: {} parameters, {} threads, dropout {}\n", shape.name, with_commas(run.parameters.element_count()),
             arguments.replicas, arguments.dropout);
  fmt::print("step   {:.2f} ms (median of {}), {} positions/s, {:.1f} GFLOP/s\n", 1e3 * seconds, steps.size(),
             with_commas(result["tokens_per_s"].get<std::uint64_t>()), result["gflops"].get<double>());
  fmt::print("its matrix products alone, by the BLAS library on one thread: {:.2f} ms;\nstep / these {:.2f}\n",
             1e3 * median(products_alone), median(ratios));
  fmt::print("memory {:.0f} MB at its peak, {:.2f} requests to the system a step\n", static_cast<double>(memory) / 1e6,
             misses);
  if (arguments.profile) print_profile(profile, profiled);
  return exit_done;
}

int bench_shapes_command(bool json) {
  if (!json)
    fmt::print("{:<9} {:>10} {:>7} {:>5} {:>12} {:>6} {:>5} {:>16}\n", "shape", "vocabulary", "d_model", "heads",
               "feed-forward", "layers", "pairs", "positions");
  for (const BenchShape& s : bench_shapes()) {
    if (json)
      fmt::print("{}\n", Json{{"name", s.name},
                              {"vocabulary", s.vocabulary},
                              {"d_model", s.d_model},
                              {"heads", s.heads},
                              {"feed_forward_width", s.feed_forward_width},
                              {"layers", s.layers},
                              {"batch_size", s.batch_size},
                              {"source_length", s.source_length},
                              {"target_length", s.target_length}}
                             .dump());
    else
      fmt::print("{:<9} {:>10} {:>7} {:>5} {:>12} {:>6} {:>5} {:>16}\n", s.name, with_commas(s.vocabulary), s.d_model,
                 s.heads, with_commas(s.feed_forward_width), fmt::format("{0}+{0}", s.layers), s.batch_size,
                 fmt::format("{}, {}", s.source_length, s.target_length));
  }
  return exit_done;
}

int bench_growth_command(const BenchGrowthArguments& arguments) {
  blas::initialize();
  using Member = std::size_t BenchShape::*;
  struct Axis {
    const char* name;
    std::vector<Member> members;  // set to the value together
    std::vector<std::size_t> values;
  };
  const std::vector<Axis> axes = {
      {"d_model", {&BenchShape::d_model}, {32, 64, 128, 256, 512}},
      {"length", {&BenchShape::source_length, &BenchShape::target_length}, {8, 16, 32, 64, 128}},
      {"vocabulary", {&BenchShape::vocabulary}, {64, 512, 4096, 16384}},
      {"layers", {&BenchShape::layers}, {1, 2, 4, 8}},
      {"batch_size", {&BenchShape::batch_size}, {8, 16, 32, 64, 128}}};
  Json results = Json::array();
  for (const Axis& axis : axes) {
    std::vector<double> values, times, operations;
    for (const std::size_t value : axis.values) {
      BenchShape shape = find_bench_shape("toy-128");
      for (const Member member : axis.members) shape.*member = value;
      shape.feed_forward_width = 4 * shape.d_model;
      BenchRun run(shape, 0.1, 1);
      Updater updater(run.training, run.options);
      TrainListener listener;
      std::uint64_t update = 0;
      const auto step = [&] { updater.update(run.batches, ++update, 0, listener); };
      for (int i = 0; i < 2; ++i) step();
      std::vector<double> steps;
      for (double elapsed = 0; elapsed < arguments.seconds || steps.size() < 3; elapsed += steps.back())
        steps.push_back(seconds_of(step));
      values.push_back(static_cast<double>(value));
      times.push_back(median(steps));
      operations.push_back(LibraryProducts(shape).floating_point_operations());
      results.push_back({{"axis", axis.name},
                         {"value", value},
                         {"step_ms", rounded(1e3 * times.back(), 1e-3)},
                         {"gflops", rounded(operations.back() / times.back() / 1e9, 0.1)}});
      if (!arguments.json)
        fmt::print("{:<10} {:>6}  {:>9.2f} ms  {:>6.1f} GFLOP/s\n", axis.name, value, 1e3 * times.back(),
                   operations.back() / times.back() / 1e9);
    }
    const double of_time = exponent(values, times), of_operations = exponent(values, operations);
    results.push_back({{"axis", axis.name},
                       {"exponent_of_time", rounded(of_time, 0.01)},
                       {"exponent_of_operations", rounded(of_operations, 0.01)}});
    if (!arguments.json)
      fmt::print("{:<10} time grows as the power {:.2f}, the operations as {:.2f}\n\n", axis.name, of_time,
                 of_operations);
  }
  if (arguments.json)
    for (const Json& result : results) fmt::print("{}\n", result.dump());
  return exit_done;
}

int bench_decode_command(const BenchDecodeArguments& arguments) {
  blas::initialize();
  const BenchShape& shape = find_bench_shape(arguments.shape);
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
      DecodingOptions options;
      options.beam = beam;
      options.max_length = shape.target_length;
      std::size_t tokens = 0;
      const auto work = [&] {
        tokens = 0;
        for (const Hypothesis& hypothesis : decode(run.model, sources, options)) tokens += hypothesis.tokens.size();
      };
      work();
      std::vector<double> times;
      for (double elapsed = 0; elapsed < arguments.seconds || times.size() < 3; elapsed += times.back())
        times.push_back(seconds_of(work));
      const double seconds = median(times);
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

}  // namespace surd
