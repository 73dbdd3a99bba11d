#include "train/replica_threads.hpp"

#include "autograd/base/error.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace surd {

ReplicaThreads::ReplicaThreads(std::size_t count) {
  expect(count > 0, "replicas", "there must be at least one");
  errors_.resize(count);
  try {
    for (std::size_t i = 1; i < count; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& error) {
    const std::size_t started = threads_.size() + 1;
    end();
    throw Error(fmt::format("replicas: the system gave {} of {} threads ({}); set train.replicas to at most {}",
                            started, count, error.code().message(), started));
  } catch (...) {  // no memory for the next one; those that run refer to this object
    end();
    throw;
  }
}

ReplicaThreads::~ReplicaThreads() { end(); }

void ReplicaThreads::end() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    quit_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReplicaThreads::work(std::size_t index) {
  std::uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      start_.wait(lock, [&] { return quit_ || round_ != seen; });
      if (quit_) return;
      seen = round_;
    }
    attempt(index);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--running_ == 0) done_.notify_one();
  }
}

void ReplicaThreads::attempt(std::size_t index) {
  try {
    (*job_)(index);
  } catch (...) {
    errors_[index] = std::current_exception();
  }
}

void ReplicaThreads::run(const std::function<void(std::size_t)>& job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    job_ = &job;
    running_ = threads_.size();
    ++round_;
  }
  start_.notify_all();
  attempt(0);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return running_ == 0; });
  }
  std::exception_ptr first;
  for (std::exception_ptr& error : errors_) {
    const std::exception_ptr own = std::exchange(error, nullptr);
    if (!first) first = own;
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace surd
