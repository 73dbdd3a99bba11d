// Micro-benchmarks, so that a regression has an address. Not run by the tests: time is measured, never asserted.

#include "autograd/blas.hpp"
#include "autograd/kernels/dropout.hpp"
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

void gemm(benchmark::State& state) {
  const auto m = static_cast<std::size_t>(state.range(0)), n = static_cast<std::size_t>(state.range(1));
  const auto a = numbers(m * n), b = numbers(n * n);
  auto c = numbers(m * n);
  for (auto _ : state)
    blas::gemm(blas::Transpose::no, blas::Transpose::yes, m, n, n, 1, a.data(), b.data(), 0, c.data());
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(m * n * n), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(gemm)->Args({768, 32})->Args({768, 64})->Args({768, 128})->Args({768, 256});

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

BENCHMARK_MAIN();
