// Micro-benchmarks, so that a regression has an address. Not run by the tests: time is measured, never asserted.

#include "autograd/blas.hpp"
#include "autograd/kernels/dropout.hpp"
#include "autograd/kernels/gemm.hpp"
#include "autograd/kernels/optimizers.hpp"
#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"

#include <benchmark/benchmark.h>

#include <vector>

namespace surd {
namespace {

std::vector<Real> numbers(std::size_t count) {
  const random::Stream stream(1, "benchmark", "numbers");
  std::vector<Real> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Real>(stream.uniform(i));
  return values;
}

enum Form { nt, nn, tn };  // y = x W^T, dx = dy W, dW = dy^T x

/// One product, its matrices `gap` elements wider than they need be: by surd's kernel, and by the BLAS library.
template <bool by_library>
void product(benchmark::State& state) {
  const auto arg = [&](int i) { return static_cast<std::size_t>(state.range(i)); };
  const bool transpose_a = arg(0) == tn, transpose_b = arg(0) == nt;
  const std::size_t m = arg(1), n = arg(2), k = arg(3), gap = arg(4);
  const std::size_t lda = (transpose_a ? m : k) + gap, ldb = (transpose_b ? k : n) + gap, ldc = n + gap;
  const auto a = numbers((transpose_a ? k : m) * lda), b = numbers((transpose_b ? n : k) * ldb);
  auto c = numbers(m * ldc);
  const auto transpose = [](bool turned) { return turned ? blas::Transpose::yes : blas::Transpose::no; };
  for (auto _ : state) {
    if (by_library)
      blas::library_gemm(transpose(transpose_a), transpose(transpose_b), m, n, k, 1, a.data(), lda, b.data(), ldb, 0,
                         c.data(), ldc);
    else
      kernels::gemm(transpose_a, transpose_b, m, n, k, 1, a.data(), lda, b.data(), ldb, 0, c.data(), ldc);
  }
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(m * n * k), benchmark::Counter::kIsIterationInvariantRate);
}

void product_shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"form", "m", "n", "k", "gap"});
  const auto projection = [&](int rows, int in, int out) {
    benchmark->Args({nt, rows, out, in, 0})->Args({nn, rows, in, out, 0})->Args({tn, out, in, rows, 0});
  };
  for (const int d : {32, 64, 128, 256}) projection(768, d, d), projection(768, d, 4 * d), projection(832, 4 * d, d);
  projection(1024, 512, 2048);
  projection(256, 256, 8000);
  for (const int w : {8, 16, 32, 64})  // a head of attention
    benchmark->Args({nt, 12, 12, w, 3 * w})->Args({nn, 12, w, 12, 3 * w})->Args({tn, 12, w, 12, 3 * w});
}
BENCHMARK_TEMPLATE(product, false)->Apply(product_shapes);
BENCHMARK_TEMPLATE(product, true)->Apply(product_shapes);

void softmax_rows(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0)), n = static_cast<std::size_t>(state.range(1));
  const auto x = numbers(rows * n);
  auto y = x;
  for (auto _ : state)
    for (std::size_t r = 0; r < rows; ++r) kernels::softmax_row(x.data() + r * n, y.data() + r * n, n, true);
}
BENCHMARK(softmax_rows)->Args({512, 12})->Args({512, 512});

void layer_norm_rows(benchmark::State& state) {
  const std::size_t rows = 768;
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto x = numbers(rows * n), gain = numbers(n), bias = numbers(n);
  auto y = x, mean = numbers(rows), deviation = mean;
  for (auto _ : state)
    kernels::layer_norm(x.data(), gain.data(), bias.data(), Real(1e-5), y.data(), mean.data(), deviation.data(), rows,
                        n);
}
BENCHMARK(layer_norm_rows)->Arg(32)->Arg(128)->Arg(512);

void dropout(benchmark::State& state) {
  const random::Stream stream(1, "dropout", "benchmark");
  const auto x = numbers(static_cast<std::size_t>(state.range(0)));
  auto y = x;
  std::vector<std::uint8_t> kept(x.size());
  for (auto _ : state)
    kernels::dropout({stream, 0, kernels::DropoutRate(0.1)}, x.data(), y.data(), kept.data(), x.size());
}
BENCHMARK(dropout)->Arg(768 * 128);

void adam_update(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto g = numbers(n);
  auto x = g, first = g, second = g;
  const kernels::AdamStep step{Real(1e-3), Real(0.9), Real(0.98), 1, Real(1e-9), 0, 1};
  for (auto _ : state) kernels::adam(g.data(), 1, step, x.data(), first.data(), second.data(), n);
}
BENCHMARK(adam_update)->Arg(1 << 18);

void attention_step(benchmark::State& state) {
  const std::size_t batch = 64, length = 12, width = static_cast<std::size_t>(state.range(0));
  Tensor x(Shape{batch, length, width});
  const auto values = numbers(x.size());
  std::copy(values.begin(), values.end(), x.data());
  for (auto _ : state) {
    Tape tape;
    const Variable v = tape.input(x, true);
    const Variable y = attention(v, v, v, {4, Real(0.25)});
    tape.backward(y, Tensor(y.value()));
  }
}
BENCHMARK(attention_step)->Arg(32)->Arg(128);

}  // namespace
}  // namespace surd

int main(int argc, char** argv) {
  surd::blas::initialize();  // one thread
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
