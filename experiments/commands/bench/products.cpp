#include "autograd/blas.hpp"
#include "autograd/kernels/gemm.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/bench/bench_arguments.hpp"
#include "experiments/commands/bench/bench_products.hpp"
#include "experiments/commands/bench/bench_run.hpp"
#include "experiments/commands/bench/peak.hpp"
#include "experiments/commands/bench/product_fit.hpp"
#include "experiments/program/exit_code.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;
using blas::Transpose;

struct Speeds {
  double library, kernel;  ///< in GFLOP/s, of the fastest of many repeats
};

/// The two in turn, so that a change of the machine's speed meets both.
Speeds speeds_of(const StepProduct& p, double seconds) {
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

/// The linear maps of decoding one sentence, by a beam of one and of five.
std::vector<StepProduct> products_of_decoding(const BenchShape& shape) {
  std::vector<StepProduct> products;
  for (const StepProducts::Projection& p : StepProducts(shape).projections)
    for (const std::size_t rows : {1, 5})
      products.push_back({blas::no, blas::yes, rows, p.out, p.in, p.in, p.in, p.out, p.count});
  return products;
}

TimedWork timed(std::string name, const std::vector<StepProduct>& products, double seconds) {
  TimedWork work{std::move(name), {}};
  for (const StepProduct& p : products) {
    if (p.of_short_head) continue;  // neither the library's nor the kernel's
    const Speeds speeds = speeds_of(p, seconds);
    const double giga = p.floating_point_operations() / 1e9;
    work.products.push_back({p, giga / speeds.library, giga / speeds.kernel});
  }
  fmt::print("{:<28} {:>10.3f} {:>10.3f} {:>10.3f}\n", work.name, 1e3 * work.seconds_by_library(),
             1e3 * work.seconds_by_kernel(), 1e3 * work.seconds_by_faster());
  std::fflush(stdout);
  return work;
}

/// Measures all shapes, and writes this processor's line of the table that blas::by_kernel looks into.
int write_rules(const std::string& path, double seconds) {
  expect(blas::core_name() != "unknown", "--write", "this BLAS does not tell its core; the table is of OpenBLAS's");
  expect(sizeof(Real) == sizeof(float), "--write", "the table is of single precision; use surd");
  const std::string table = read_file(path);
  with_rules(path, table, blas::rules_for(blas::this_processor()));
  write_file_atomically(path, table);  // what cannot be written is known before it is measured
  fmt::print("{:<28} {:>10} {:>10} {:>10}\n", "products, ms", "library", "kernel", "the faster");
  std::vector<TimedWork> works;
  for (const BenchShape& shape : bench_shapes()) {
    works.push_back(timed(shape.name + ", a step", products_of(shape), seconds));
    works.push_back(timed(shape.name + ", decoding", products_of_decoding(shape), seconds));
  }
  const blas::ProductRules rules = fitted_rules(blas::this_processor(), works);
  const auto loss = [&](const TimedWork& work) { return work.seconds_by(rules) / work.seconds_by_faster(); };
  const TimedWork& worst = *std::max_element(works.begin(), works.end(),
                                             [&](const TimedWork& x, const TimedWork& y) { return loss(x) < loss(y); });
  fmt::print("{}\nby this line at most {:.2f} times as long as by the faster ({})\n", blas::table_line(rules),
             loss(worst), worst.name);
  write_file_atomically(path, with_rules(path, table, rules));
  fmt::print("written to {}; build again to use it\n", path);
  return exit_done;
}

struct BenchProductsArguments : ShapeArguments {
  std::string table;

  BenchProductsArguments() : ShapeArguments("toy-64", 0.2) {}
  void fields(Fields& f) {
    ShapeArguments::fields(f);
    f("write", table, "measure all shapes and write this processor's line of a table, autograd/product_table.inc",
      Unit{"file"});
    f.rule(table.empty() || !json, "write", "is not for --json; leave out one of them");
    f.rule(table.empty() || seconds >= 0.1, "secs", "must be at least 0.1 for --write; less measures noise");
  }
};

int bench_products_command(const BenchProductsArguments& arguments) {
  blas::initialize();
  const BenchShape& shape = find_bench_shape(arguments.shape);
  if (!arguments.table.empty()) return write_rules(arguments.table, arguments.seconds);
  const double peak = peak_gflops(0.2);
  if (!arguments.json)
    fmt::print("{}, one thread, GFLOP/s; a loop without memory has {:.0f}; {} ({})\n{:<24} {:>8} {:>8} {:>8}  {}\n",
               shape.name, peak, blas::description(), blas::core_name(), "product (m x n x k)", "library", "kernel",
               "ratio", "a step takes");
  for (const StepProduct& p : products_of(shape)) {
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
