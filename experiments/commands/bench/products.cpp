#include "autograd/blas.hpp"
#include "autograd/kernels/gemm.hpp"
#include "experiments/commands/bench/bench_arguments.hpp"
#include "experiments/commands/bench/bench_products.hpp"
#include "experiments/commands/bench/bench_run.hpp"
#include "experiments/commands/bench/peak.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/program/exit_code.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;
using blas::Transpose;

struct Speeds {
  double library, kernel;  ///< in GFLOP/s, of the fastest of many repeats
};

/// The two in turn, so that a change of the machine's speed meets both.
Speeds speeds_of(const Product& p, double seconds) {
  const Tensor a = full({p.elements_of_a()}, Real(0.5)), b = full({p.elements_of_b()}, Real(0.25));
  Tensor c(Shape{p.m * p.ldc});
  const auto repeats = static_cast<std::size_t>(std::max(1.0, 1e6 / p.floating_point_operations()));
  const auto library = [&] {
    for (std::size_t i = 0; i < repeats; ++i)
      blas::library_gemm(p.a, p.b, p.m, p.n, p.k, 1, a.data(), p.lda, b.data(), p.ldb, 0, c.data(), p.ldc);
  };
  const auto kernel = [&] {
    for (std::size_t i = 0; i < repeats; ++i)
      kernels::gemm(p.a == Transpose::yes, p.b == Transpose::yes, p.m, p.n, p.k, 1, a.data(), p.lda, b.data(), p.ldb, 0,
                    c.data(), p.ldc);
  };
  double best_library = std::numeric_limits<double>::infinity(), best_kernel = best_library;
  const Stopwatch watch;
  do {
    best_library = std::min(best_library, seconds_of(library));
    best_kernel = std::min(best_kernel, seconds_of(kernel));
  } while (watch.seconds() < seconds);
  const double operations = p.floating_point_operations() * static_cast<double>(repeats) / 1e9;
  return {operations / best_library, operations / best_kernel};
}

struct BenchProductsArguments : ShapeArguments {
  BenchProductsArguments() : ShapeArguments("toy-64", 0.2) {}
};

int bench_products_command(const BenchProductsArguments& arguments) {
  blas::initialize();
  const BenchShape& shape = find_bench_shape(arguments.shape);
  const double peak = peak_gflops();
  if (!arguments.json)
    fmt::print("{}, one thread, GFLOP/s; a loop without memory has {:.0f}; {} ({})\n{:<24} {:>8} {:>8} {:>8}  {}\n",
               shape.name, peak, blas::description(), blas::core_name(), "product (m x n x k)", "library", "kernel",
               "ratio", "a step takes");
  for (const Product& p : products_of(shape)) {
    const Speeds speeds = speeds_of(p, arguments.seconds);
    if (arguments.json)
      fmt::print("{}\n", Json{{"config", shape.name},
                              {"product", p.name()},
                              {"library_gflops", rounded(speeds.library, 0.1)},
                              {"kernel_gflops", rounded(speeds.kernel, 0.1)},
                              {"peak_gflops", rounded(peak, 0.1)},
                              {"taken", p.computed_by()},
                              {"blas", blas::description()},
                              {"core", blas::core_name()}}
                             .dump());
    else
      fmt::print("{:<24} {:>8.1f} {:>8.1f} {:>8.2f}  {}\n", p.name(), speeds.library, speeds.kernel,
                 speeds.kernel / speeds.library, p.computed_by());
  }
  return exit_done;
}

}  // namespace

void add_bench_products(CommandTable& table) {
  table.add("bench products", "Time each matrix product of a step, by the library and by surd's kernel", {},
            bench_products_command);
}

}  // namespace surd
