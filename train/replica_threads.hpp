#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace surd {

/// Threads that do one job after another together: the caller's own, and others that wait in between.
class ReplicaThreads {
 public:
  /// Throws Error where the system has not so many threads, std::bad_alloc where it has not the memory.
  explicit ReplicaThreads(std::size_t count);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  std::size_t count() const { return threads_.size() + 1; }

  /// Calls job(0) here and job(1), job(2), ... on the other threads. Once all have returned it throws what the first of
  /// them has thrown, if any.
  void run(const std::function<void(std::size_t)>& job);

 private:
  void end();
  void work(std::size_t index);
  void attempt(std::size_t index);

  // The job under way: threads wait for `round_` to change, and the caller for `running_` to reach 0.
  const std::function<void(std::size_t)>* job_ = nullptr;
  std::vector<std::exception_ptr> errors_;  // one a thread
  std::mutex mutex_;
  std::condition_variable start_, done_;
  std::uint64_t round_ = 0;
  std::size_t running_ = 0;
  bool quit_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace surd
