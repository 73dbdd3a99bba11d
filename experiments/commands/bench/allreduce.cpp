#include "experiments/command_line/command.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/stopwatch.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/study/statistics/statistics.hpp"
#include "train/ranks/mpi_transport.hpp"
#include "train/ranks/ranks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace surd {
namespace {

struct BenchAllreduceArguments {
  std::size_t times = 9;

  void fields(Fields& f) { f("times", times, "how often each sum is measured", between(1, 1000)); }
};

/// Median seconds of one sum of so many bytes of gradients, in tensors as linear layers of width 256 have them.
double seconds_of_sum(Transport& transport, std::size_t bytes, std::size_t times) {
  constexpr std::size_t width = 256;
  ParameterSet parameters;
  for (std::size_t left = bytes / sizeof(Real); left > 0;) {
    const std::size_t numbers = std::min(left, parameters.size() % 2 == 0 ? width * width : width);
    Parameter& parameter = parameters.add(fmt::format("gradient-{}", parameters.size()), zeros({numbers}));
    parameter.gradient.sum = zeros({numbers});
    parameter.gradient.empty = false;
    left -= numbers;
  }
  Ranks ranks(transport, parameters, std::chrono::seconds(600), [] { return false; });
  std::vector<double> seconds;
  for (std::size_t i = 0; i <= times; ++i) {
    const double once = seconds_of([&] {
      ranks.begin(ranks.count());
      ranks.finish({});
    });
    if (i > 0) seconds.push_back(once);  // the first one also makes connections
  }
  return statistics::median(seconds);
}

/// What a sum costs by the model of Thakur et al. (2005): 2 (n - 1) messages a bucket, 2 (n - 1) / n times the bytes.
/// The tensors of a share travel one behind the other, so that their latencies are hidden but for the first.
struct Cost {
  double latency;    ///< seconds a message
  double bandwidth;  ///< bytes a second

  double seconds(double ranks, double bytes) const {
    const double buckets = std::ceil(bytes / Ranks::usual_bucket_bytes);
    return 2 * (ranks - 1) * (buckets * latency + bytes / (ranks * bandwidth));
  }
};

int bench_allreduce_command(const BenchAllreduceArguments& arguments) {
  const std::unique_ptr<Transport> transport = mpi_transport();
  expect_usage(transport != nullptr, "bench allreduce",
               "this program was built without MPI; build it with -DSURD_MPI=ON, and run it by mpirun");
  expect_usage(transport->count() > 1, "bench allreduce", "needs two ranks or more: mpirun -n 2 surd bench allreduce");
  const std::vector<std::size_t> sizes{4 << 10, 256 << 10, 1 << 20, 4 << 20, 20 << 20, 40 << 20, 192 << 20};
  std::vector<double> seconds;
  for (const std::size_t bytes : sizes) seconds.push_back(seconds_of_sum(*transport, bytes, arguments.times));
  if (transport->index() > 0) return exit_done;
  const auto ranks = static_cast<double>(transport->count()), largest = static_cast<double>(sizes.back());
  // The smallest sum is all latency, the largest nearly all bytes.
  Cost cost{seconds.front() / (2 * (ranks - 1)), 1};
  const double messages = 2 * (ranks - 1) * std::ceil(largest / Ranks::usual_bucket_bytes) * cost.latency;
  cost.bandwidth = 2 * (ranks - 1) / ranks * largest / std::max(seconds.back() - messages, seconds.back() / 2);
  fmt::print("{} ranks: a message takes {:.0f} us, and {:.2f} GB pass a second\n\n", transport->count(),
             1e6 * cost.latency, cost.bandwidth / 1e9);
  fmt::print("{:>12} {:>14} {:>12} {:>22} {:>10} {:>10}\n", "parameters", "gradients, MB", "measured, ms",
             "expected, ms: 8 ranks", "64 ranks", "512 ranks");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto bytes = static_cast<double>(sizes[i]);
    fmt::print("{:>12} {:>14.3g} {:>12.3g} {:>22.3g} {:>10.3g} {:>10.3g}\n", with_commas(sizes[i] / sizeof(Real)),
               bytes / 1e6, 1e3 * seconds[i], 1e3 * cost.seconds(8, bytes), 1e3 * cost.seconds(64, bytes),
               1e3 * cost.seconds(512, bytes));
  }
  fmt::print(
      "\nAn update on n ranks takes about 1/n of its time on one, and what of the sum backward does not hide.\n");
  return exit_done;
}

}  // namespace

void add_bench_allreduce(CommandTable& table) {
  table.add("bench allreduce", "Sums of gradients between ranks, and what more ranks would take", {},
            bench_allreduce_command);
}

}  // namespace surd
