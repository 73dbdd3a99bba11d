#include "experiments/commands/bench/peak.hpp"

#include "autograd/kernels/simd.hpp"
#include "experiments/commands/bench/bench_run.hpp"

#include <algorithm>
#include <vector>

namespace surd {

double peak_gflops(double seconds) {
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
  const std::vector<double> times = times_of(work, seconds);
  volatile Real used = 0;
  for (const Batch& s : sum) used = used + xsimd::hadd(s);
  return 2.0 * sums * kernels::lanes * repeats / *std::min_element(times.begin(), times.end()) / 1e9;
}

}  // namespace surd
