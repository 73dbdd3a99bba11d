#pragma once

#include "train/storage/files.hpp"

#include <cerrno>
#include <cstddef>
#include <string>

namespace surd::test {

/// The kinds of calls that can fail while a run is saved.
enum class Call { open, write, truncate, sync, close, rename };
inline constexpr Call all_calls[] = {Call::open, Call::write, Call::truncate, Call::sync, Call::close, Call::rename};

/// How a call fails. A short write writes half of the bytes; what comes after it does not fit.
enum class Failure { input_output, no_space, short_write };

/// Counts the calls of one kind and lets the k-th one of them fail, and, where the disk is full, all that would need
/// room after it.
class FailingCalls : public SystemCalls {
 public:
  FailingCalls() = default;
  FailingCalls(Call kind, std::size_t at, Failure failure) : kind_(kind), at_(at), failure_(failure) {}

  std::size_t count(Call kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  bool failed() const { return failed_; }

  int open(const char* path, int flags) override {
    return fails(Call::open) ? error() : SystemCalls::open(path, flags);
  }
  ssize_t write(int descriptor, const void* bytes, std::size_t size) override {
    const bool full = failed_ && failure_ != Failure::input_output;
    if (!fails(Call::write)) return full ? error() : SystemCalls::write(descriptor, bytes, size);
    if (failure_ == Failure::short_write && size > 1) return SystemCalls::write(descriptor, bytes, size / 2);
    return error();
  }
  int truncate(int descriptor, off_t size) override {
    return fails(Call::truncate) ? error() : SystemCalls::truncate(descriptor, size);
  }
  /// Does not really sync: that takes most of the time and no test cuts the power.
  int sync(int) override { return fails(Call::sync) ? error() : 0; }
  int close(int descriptor) override {
    const bool now = fails(Call::close);
    const int result = SystemCalls::close(descriptor);  // as on Linux: the descriptor is gone either way
    return now ? error() : result;
  }
  int rename(const char* from, const char* to) override {
    return fails(Call::rename) ? error() : SystemCalls::rename(from, to);
  }

 private:
  bool fails(Call kind) {
    const bool now = counts_[static_cast<std::size_t>(kind)]++ == at_ && kind == kind_;
    failed_ = failed_ || now;
    return now;
  }
  int error() const {
    errno = failure_ == Failure::input_output ? EIO : ENOSPC;
    return -1;
  }

  Call kind_ = Call::open;
  std::size_t at_ = static_cast<std::size_t>(-1);
  Failure failure_ = Failure::input_output;
  std::size_t counts_[6] = {};
  bool failed_ = false;
};

}  // namespace surd::test
