#pragma once

#include <chrono>
#include <map>
#include <string>

namespace surd {

/// Where the time of an update goes. A tape that is given one marks the time as values are recorded and as backward
/// functions return; what lies between two marks is booked on the later one's op. What is no op (the optimizer, say) is
/// booked by name, neither as forward nor as backward.
class Profile {
 public:
  struct Seconds {
    double forward = 0, backward = 0;
    double other = 0;  ///< of what is no op
    double all() const { return forward + backward + other; }
  };

  /// Starts a stretch of time that belongs to whatever is booked next.
  void mark() { last_ = Clock::now(); }
  void forward(const char* op) { seconds_[op].forward += lap(); }
  void backward(const char* op) { seconds_[op].backward += lap(); }
  void book(const char* what) { seconds_[what].other += lap(); }

  const std::map<std::string, Seconds>& seconds() const { return seconds_; }
  void clear() { seconds_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;

  double lap() {
    const Clock::time_point before = last_;
    mark();
    return std::chrono::duration<double>(last_ - before).count();
  }

  std::map<std::string, Seconds> seconds_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace surd
