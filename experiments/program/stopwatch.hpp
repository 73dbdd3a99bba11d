#pragma once

#include <chrono>

namespace surd {

/// Measures the time since it was made.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

template <class Work>
double seconds_of(Work work) {
  const Stopwatch watch;
  work();
  return watch.seconds();
}

}  // namespace surd
