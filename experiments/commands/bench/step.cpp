#include "autograd/base/counted.hpp"
#include "autograd/blas.hpp"
#include "autograd/pool.hpp"
#include "autograd/profile.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/bench/bench_arguments.hpp"
#include "experiments/commands/bench/bench_products.hpp"
#include "experiments/commands/bench/bench_run.hpp"
#include "experiments/commands/bench/peak.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/version.hpp"
#include "experiments/run/system_info.hpp"
#include "experiments/study/statistics/statistics.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

struct BenchStepArguments : ShapeArguments {
  std::size_t replicas = 1;
  double dropout = 0.1;
  bool profile = false;

  BenchStepArguments() : ShapeArguments("toy-64", 5) {}
  void fields(Fields& f) {
    ShapeArguments::fields(f);
    f("replicas", replicas, "threads that share each batch", between(1, 256), Unit{"threads"});
    f("dropout", dropout, "dropout of the model", between(0, 0.99), Unit{"rate"});
    f("profile", profile, "the share of each op");
  }
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
  const std::size_t of_parameters =  // themselves, Adam's two moments, and the gradients of each replica
      run.parameters.element_count() * sizeof(Real) * (3 + arguments.replicas);
  const std::size_t of_ops = pool::statistics().bytes_held - of_parameters;

  // The step, the library's products and the peak in turn, so that a change of the machine's speed meets all.
  LibraryProducts products(shape);
  products.run();
  step();  // warms up again, because the products took some of the pool's blocks
  profile.clear();
  const std::size_t requests = pool::statistics().system_requests;
  std::vector<double> steps, products_alone, ratios, peaks;
  double profiled = 0;
  for (double elapsed = 0; elapsed < arguments.seconds || steps.size() < 5;) {
    steps.push_back(seconds_of(step));
    products_alone.push_back(seconds_of([&] { products.run(); }));
    ratios.push_back(steps.back() / products_alone.back());
    peaks.push_back(peak_gflops(0.001));
    profiled += steps.back();
    elapsed += steps.back() + products_alone.back();
  }
  const double misses =
      static_cast<double>(pool::statistics().system_requests - requests) / static_cast<double>(steps.size());

  const double seconds = statistics::median(steps);
  const double gflops = products.floating_point_operations() / seconds / 1e9, peak = statistics::median(peaks);
  Json result{{"peer", std::string("surd ") + version()},
              {"config", shape.name},
              {"threads", arguments.replicas},
              {"dropout", arguments.dropout},
              {"params", run.parameters.element_count()},
              {"step_ms", rounded(1e3 * seconds, 1e-3)},
              {"tokens_per_s", std::llround(static_cast<double>(shape.positions()) / seconds)},
              {"gflops", rounded(gflops, 0.1)},
              {"peak_gflops", rounded(peak, 0.1)},
              {"steps", steps.size()},
              {"library_products_ms", rounded(1e3 * statistics::median(products_alone), 1e-3)},
              {"step_over_library_products", rounded(statistics::median(ratios), 1e-3)},
              {"peak_memory_bytes", memory},
              {"parameters_gradients_moments_bytes", of_parameters},
              {"ops_bytes", of_ops},
              {"pool_misses_per_step", misses},
              {"blas", blas::description()}};
  if (arguments.profile) result["profile"] = to_json(profile, profiled);
  if (arguments.json) {
    fmt::print("{}\n", result.dump());
    return exit_done;
  }
  fmt::print("{}: {} parameters, {}, dropout {}\n", shape.name, with_commas(run.parameters.element_count()),
             counted(arguments.replicas, "thread"), arguments.dropout);
  fmt::print("step   {:.2f} ms (median of {}), {} positions/s,\n", 1e3 * seconds, steps.size(),
             with_commas(result["tokens_per_s"].get<std::uint64_t>()));
  fmt::print("{:.1f} GFLOP/s; one core that loads and stores nothing has {:.1f}\n", gflops, peak);
  fmt::print("the step's matrix products alone, by the BLAS library on one thread: {:.2f} ms;\nstep / these {:.2f}\n",
             1e3 * statistics::median(products_alone), statistics::median(ratios));
  const auto megabytes = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e6; };
  fmt::print("memory {:.0f} MB at its peak: parameters, gradients and moments {:.0f} MB,\n", megabytes(memory),
             megabytes(of_parameters));
  fmt::print("what ops compute and keep {:.0f} MB; {:.2f} requests to the system a step\n", megabytes(of_ops), misses);
  if (arguments.profile) print_profile(profile, profiled);
  return exit_done;
}

}  // namespace

void add_bench_step(CommandTable& table) {
  table.add("bench step", "Time a training step beside its matrix products alone", {}, bench_step_command);
}

}  // namespace surd
