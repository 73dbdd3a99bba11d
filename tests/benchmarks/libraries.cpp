// The matrix products of a training step by each library that could compute them, on one thread, as a page in Markdown:
//
//   surd_bench_libraries [SHAPE ...]      (./dev bench libraries)
//
// oneDNN and libxsmm are linked; BLIS, whose names are those of OpenBLAS, is loaded.

#include "autograd/base/random.hpp"
#include "autograd/blas.hpp"
#include "autograd/kernels/attention.hpp"
#include "autograd/kernels/gemm.hpp"
#include "experiments/commands/bench/bench_products.hpp"
#include "experiments/commands/bench/peak.hpp"
#include "experiments/program/stopwatch.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/version.hpp"

#include <dnnl.h>
#include <fmt/format.h>

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

static_assert(sizeof(surd::Real) == sizeof(float), "the libraries' products are of single precision");

extern "C" void libxsmm_sgemm(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                              const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                              const float* beta, float* c, const int* ldc);

namespace surd {
namespace {

/// What can compute op(A) op(B).
struct Library {
  std::string name;
  std::function<void(const StepProduct&, const Real* a, const Real* b, Real* c)> multiply;
};

/// The transpose of the product by a function that takes its matrices column by column, as BLAS does in Fortran.
template <class Function>
void by_columns(Function* sgemm, const StepProduct& p, const Real* a, const Real* b, Real* c) {
  const char ta = transpose_letter(p.a), tb = transpose_letter(p.b);
  const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  const int lda = static_cast<int>(p.lda), ldb = static_cast<int>(p.ldb), ldc = static_cast<int>(p.ldc);
  const float one = 1, zero = 0;
  sgemm(&tb, &ta, &n, &m, &k, &one, b, &ldb, a, &lda, &zero, c, &ldc);
}

std::vector<Library> libraries() {
  std::vector<Library> all;
  all.push_back({"OpenBLAS", [](const StepProduct& p, const Real* a, const Real* b, Real* c) {
                   blas::library_gemm(p.a, p.b, p.m, p.n, p.k, 1, a, p.lda, b, p.ldb, 0, c, p.ldc);
                 }});
  all.push_back({"oneDNN", [](const StepProduct& p, const Real* a, const Real* b, Real* c) {
                   const auto size = [](std::size_t x) { return static_cast<dnnl_dim_t>(x); };
                   dnnl_sgemm(transpose_letter(p.a), transpose_letter(p.b), size(p.m), size(p.n), size(p.k), 1, a,
                              size(p.lda), b, size(p.ldb), 0, c, size(p.ldc));
                 }});
  all.push_back({"libxsmm", [](const StepProduct& p, const Real* a, const Real* b, Real* c) {
                   by_columns(libxsmm_sgemm, p, a, b, c);
                 }});
  void* const blis = dlopen("libblis.so.4", RTLD_NOW | RTLD_LOCAL);
  void* const found = blis == nullptr ? nullptr : dlsym(blis, "sgemm_");
  expect(found != nullptr, "libraries", "there is no BLIS here: {}", dlerror());
  auto* const sgemm = reinterpret_cast<decltype(libxsmm_sgemm)*>(found);
  all.push_back(
      {"BLIS", [=](const StepProduct& p, const Real* a, const Real* b, Real* c) { by_columns(sgemm, p, a, b, c); }});
  all.push_back({"surd's kernel", [](const StepProduct& p, const Real* a, const Real* b, Real* c) {
                   kernels::gemm(p.a == blas::Transpose::yes, p.b == blas::Transpose::yes, p.m, p.n, p.k, 1, a, p.lda,
                                 b, p.ldb, 0, c, p.ldc);
                 }});
  return all;
}

Tensor numbers(std::size_t count) {
  const random::Stream stream(1, "benchmark", "numbers");
  Tensor values(Shape{count});
  for (std::size_t i = 0; i < count; ++i) values.data()[i] = static_cast<Real>(stream.uniform(i));
  return values;
}

/// Throws Error where the results of two libraries differ by more than rounding: what is fast must be right as well.
void expect_same(const StepProduct& p, const std::string& name, const Real* result, const Real* expected) {
  for (std::size_t i = 0; i < p.m; ++i)
    for (std::size_t j = 0; j < p.n; ++j) {
      const Real x = result[i * p.ldc + j], y = expected[i * p.ldc + j];
      expect(std::fabs(x - y) <= Real(1e-5) * static_cast<Real>(p.k), "libraries", "{} of {}: {} instead of {}",
             p.name(), name, x, y);
    }
}

/// Seconds that each library takes for the product, at best; in turn, so that a change of the machine's speed meets
/// all.
std::vector<double> seconds_of_each(const std::vector<Library>& all, const StepProduct& p, double seconds) {
  const Tensor a = numbers(p.elements_of_a()), b = numbers(p.elements_of_b());
  Tensor c, expected = zeros({p.m * p.ldc});
  all.front().multiply(p, a.data(), b.data(), expected.data());
  std::vector<double> best(all.size(), std::numeric_limits<double>::infinity());
  const auto repeats = static_cast<std::size_t>(std::max(1.0, 1e6 / p.floating_point_operations()));
  for (const Library& library : all) {
    c = full({p.m * p.ldc}, std::numeric_limits<Real>::quiet_NaN());
    library.multiply(p, a.data(), b.data(), c.data());
    expect_same(p, library.name, c.data(), expected.data());
  }
  const Stopwatch watch;
  do {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double taken = seconds_of([&] {
        for (std::size_t r = 0; r < repeats; ++r) all[i].multiply(p, a.data(), b.data(), c.data());
      });
      best[i] = std::min(best[i], taken / static_cast<double>(repeats));
    }
  } while (watch.seconds() < seconds);
  return best;
}

void print_row(const std::string& first, const std::vector<double>& values, const std::string& last) {
  fmt::print("| {} |", first);
  for (const double value : values) fmt::print(" {:.1f} |", value);
  fmt::print(" {} |\n", last);
}

void print_shape(const std::vector<Library>& all, const BenchShape& shape, double peak) {
  fmt::print("\n## {}\n\n| product (m x n x k) |", shape.name);
  for (const Library& library : all) fmt::print(" {} |", library.name);
  fmt::print(" peak |\n|---|");
  for (std::size_t i = 0; i <= all.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  std::vector<double> step(all.size(), 0);
  double operations = 0, of_fastest = 0, as_taken = 0;
  for (const StepProduct& p : products_of(shape)) {
    const std::vector<double> seconds = seconds_of_each(all, p, 0.5);
    std::vector<double> gflops;
    for (std::size_t i = 0; i < all.size(); ++i) {
      gflops.push_back(p.floating_point_operations() / seconds[i] / 1e9);
      step[i] += 1e3 * seconds[i] * static_cast<double>(p.count);
    }
    operations += p.floating_point_operations() * static_cast<double>(p.count);
    of_fastest += 1e3 * *std::min_element(seconds.begin(), seconds.end() - 1) * static_cast<double>(p.count);
    as_taken += 1e3 * (p.computed_by() == "library" ? seconds.front() : seconds.back()) * static_cast<double>(p.count);
    print_row(p.name(), gflops, fmt::format("{:.0f}", peak));
  }
  print_row("**all of a step, ms**", step, fmt::format("{:.1f}", 1e-6 * operations / peak));
  fmt::print("\nEach by the fastest of the libraries: {:.1f} ms. As a step takes them: {:.1f} ms.\n", of_fastest,
             as_taken);
}

/// The value of the first line "key : value" of /proc/cpuinfo.
std::string cpuinfo(const std::string& key) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const auto value = line.find(": ");
    if (line.rfind(key + '\t', 0) == 0 && value != std::string::npos) return line.substr(value + 2);
  }
  return "?";
}

/// Its name, family, model and stepping: clouds call several generations by one name.
std::string processor() {
  return fmt::format("{} (family {}, model {}, stepping {})", cpuinfo("model name"), cpuinfo("cpu family"),
                     cpuinfo("model"), cpuinfo("stepping"));
}

int run(const std::vector<std::string>& names) {
  blas::initialize();
  auto* const set_threads = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  expect(set_threads != nullptr, "libraries", "oneDNN's threads are not OpenMP's: cannot ask for one");
  set_threads(1);
  const std::vector<Library> all = libraries();
  const dnnl_version_t* const onednn = dnnl_version();
  const double peak = peak_gflops(0.2);
  fmt::print("# Products of a step by several libraries\n\n");
  fmt::print("Written by `./dev bench libraries`; [performance.md](../performance.md) has whole steps.\n\n");
  fmt::print(
      "GFLOP/s of one thread, the fastest of many repeats in turn, matrices in the cache where they fit. {}; {}; ",
      processor(), blas::description());
  fmt::print("oneDNN {}.{}.{} by dnnl_sgemm; libxsmm passes large ones on to OpenBLAS. ", onednn->major, onednn->minor,
             onednn->patch);
  fmt::print("One core's peak is {:.0f} GFLOP/s. Measured on {}. Commit {}.\n\n", peak,
             iso_time(std::time(nullptr)).substr(0, 10), git_commit());
  fmt::print(
      "Heads of up to {} queries and keys, whose products have a kernel of their own in a step, count as a step takes "
      "them by the time of surd's kernel for all others.\n",
      kernels::longest_short_head());
  for (const std::string& name : names) print_shape(all, find_bench_shape(name), peak);
  return 0;
}

}  // namespace
}  // namespace surd

int main(int count, char** words) {
  std::vector<std::string> names(words + 1, words + count);
  if (names.empty())
    for (const surd::BenchShape& shape : surd::bench_shapes()) names.push_back(shape.name);
  try {
    return surd::run(names);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
