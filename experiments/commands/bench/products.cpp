#include "autograd/blas.hpp"
#include "autograd/kernels/gemm.hpp"
#include "autograd/kernels/simd.hpp"
#include "experiments/commands/bench/bench_arguments.hpp"
#include "experiments/commands/bench/bench_products.hpp"
#include "experiments/commands/bench/bench_run.hpp"
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

/// op(A) [m, k] times op(B) [k, n], as a step makes it: of whole matrices, or of a head's columns of wider ones, whose
/// scores have rows of whole registers.
struct Product {
  Transpose a, b;
  std::size_t m, n, k, lda, ldb, ldc;

  std::string name() const {
    const auto letter = [](Transpose t) { return t == Transpose::no ? 'N' : 'T'; };
    return fmt::format("{}{} {} x {} x {}", letter(a), letter(b), m, n, k);
  }
  double floating_point_operations() const { return 2.0 * static_cast<double>(m * n * k); }
};

std::vector<Product> products_of(const BenchShape& shape) {
  constexpr auto no = Transpose::no, yes = Transpose::yes;
  const StepProducts sizes(shape);
  std::vector<Product> products;
  const auto add = [&](const Product& product) {
    const auto same = [&](const Product& other) { return other.name() == product.name(); };
    if (std::none_of(products.begin(), products.end(), same)) products.push_back(product);
  };
  for (const auto& [rows, in, out, count] : sizes.projections) {
    add({no, yes, rows, out, in, in, in, out});
    add({yes, no, out, in, rows, out, in, in});
    add({no, no, rows, in, out, out, in, in});
  }
  const std::size_t d = shape.d_model, head = d / shape.heads;
  for (const auto& [queries, keys, count] : sizes.attentions) {
    const std::size_t row = (keys + 15) / 16 * 16;
    add({no, yes, queries, keys, head, d, d, row});
    add({no, no, queries, head, keys, row, d, d});
    add({yes, no, keys, head, queries, row, d, d});
  }
  return products;
}

/// Multiplications and additions a second, in 1e9, of one core that has nothing to load or to store.
double peak_gflops() {
  using kernels::Batch;
  constexpr std::size_t sums = 12, repeats = 100'000;  // more sums than are under way at once
  Batch sum[sums];
  std::fill_n(sum, sums, Batch(Real(1)));
  const volatile Real one = 1;  // a constant, the compiler would use it to compute the result itself
  const Batch x(one), y(Real(0));
  const auto work = [&] {
    for (std::size_t i = 0; i < repeats; ++i)
#pragma GCC unroll 12
      for (std::size_t j = 0; j < sums; ++j) sum[j] = xsimd::fma(x, sum[j], y);
  };
  const std::vector<double> times = times_of(work, 0.2);
  volatile Real used = 0;
  for (const Batch& s : sum) used = used + xsimd::hadd(s);
  return 2.0 * sums * kernels::lanes * repeats / *std::min_element(times.begin(), times.end()) / 1e9;
}

struct Speeds {
  double library, kernel;  ///< in GFLOP/s, of the fastest of many repeats
};

/// The two in turn, so that a change of the machine's speed meets both.
Speeds speeds_of(const Product& p, double seconds) {
  const std::size_t rows_of_a = p.a == Transpose::no ? p.m : p.k, rows_of_b = p.b == Transpose::no ? p.k : p.n;
  const Tensor a = full({rows_of_a * p.lda}, Real(0.5)), b = full({rows_of_b * p.ldb}, Real(0.25));
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
    const char* taken = blas::by_kernel(p.a, p.b, p.m, p.n, p.k) ? "kernel" : "library";
    if (arguments.json)
      fmt::print("{}\n", Json{{"config", shape.name},
                              {"product", p.name()},
                              {"library_gflops", rounded(speeds.library, 0.1)},
                              {"kernel_gflops", rounded(speeds.kernel, 0.1)},
                              {"peak_gflops", rounded(peak, 0.1)},
                              {"taken", taken},
                              {"blas", blas::description()},
                              {"core", blas::core_name()}}
                             .dump());
    else
      fmt::print("{:<24} {:>8.1f} {:>8.1f} {:>8.2f}  {}\n", p.name(), speeds.library, speeds.kernel,
                 speeds.kernel / speeds.library, taken);
  }
  return exit_done;
}

}  // namespace

void add_bench_products(CommandTable& table) {
  table.add("bench products", "Time each matrix product of a step, by the library and by surd's kernel", {},
            bench_products_command);
}

}  // namespace surd
