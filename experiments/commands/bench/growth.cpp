#include "autograd/blas.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/bench/bench_arguments.hpp"
#include "experiments/commands/bench/bench_products.hpp"
#include "experiments/commands/bench/bench_run.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/study/statistics/statistics.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

struct BenchGrowthArguments : MeasurementArguments {
  BenchGrowthArguments() : MeasurementArguments(1) {}
};

/// Steps of toy-128 with one size at a time made larger or smaller, and how the time grows.
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
      values.push_back(static_cast<double>(value));
      times.push_back(statistics::median(times_of(step, arguments.seconds)));
      operations.push_back(LibraryProducts(shape).floating_point_operations());
      results.push_back({{"axis", axis.name},
                         {"value", value},
                         {"step_ms", rounded(1e3 * times.back(), 1e-3)},
                         {"gflops", rounded(operations.back() / times.back() / 1e9, 0.1)}});
      if (!arguments.json)
        fmt::print("{:<10} {:>6}  {:>9.2f} ms  {:>6.1f} GFLOP/s\n", axis.name, value, 1e3 * times.back(),
                   operations.back() / times.back() / 1e9);
    }
    const double of_time = statistics::log_log_slope(values, times);
    const double of_operations = statistics::log_log_slope(values, operations);
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

}  // namespace

void add_bench_growth(CommandTable& table) {
  table.add("bench growth", "Time steps while one size at a time grows", {}, bench_growth_command);
}

}  // namespace surd
