#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

/// Counter-based random numbers: a draw is a pure function of (seed, purpose, name, step, index), so that adding a
/// parameter or a layer never shifts another one's draws, and a resumed run needs no generator state.
namespace surd::random {

/// A family of draws, addressed by index. Philox4x32-10 (Salmon et al., SC 2011): the 64-bit key is a hash of
/// (seed, purpose, name), the 128-bit counter is (index, step). The numbers are the same on every compiler and machine.
class Stream {
 public:
  /// `step` is the number of the update, the epoch, ...
  Stream(std::uint64_t seed, std::string_view purpose, std::string_view name, std::uint64_t step = 0);

  /// 128 random bits.
  std::array<std::uint32_t, 4> block(std::uint64_t index) const;

  /// The blocks first, first + 1, ..., four words each: the same bits as block(), several times as fast.
  void blocks(std::uint64_t first, std::size_t count, std::uint32_t* words) const;

  /// 64 random bits.
  std::uint64_t bits(std::uint64_t index) const;

  /// Uniform in (0, 1): unit_interval() of bits().
  double uniform(std::uint64_t index) const;

  /// Standard normal by inversion of uniform() (Wichura 1988, algorithm AS 241, PPND16; relative error about 1e-16).
  double normal(std::uint64_t index) const;

  /// Uniform integer in [0, bound), without modulo bias beyond 2^-64. Precondition: bound > 0.
  std::uint64_t integer(std::uint64_t index, std::uint64_t bound) const;

  /// Writes `count` draws, first, first + 1, ...: the same numbers as one at a time, several times as fast.
  void bits(std::uint64_t first, std::size_t count, std::uint64_t* to) const;
  void uniform(std::uint64_t first, std::size_t count, double* to) const;
  void normal(std::uint64_t first, std::size_t count, double* to) const;

 private:
  std::uint64_t key_;
  std::uint64_t step_;
};

/// Draws 0, 1, ... of a stream, for code that needs an unknown number of them (data generators, shuffles).
class Sequence {
 public:
  explicit Sequence(Stream stream) : stream_(stream) {}

  double uniform();
  std::uint64_t integer(std::uint64_t bound);
  /// Uniform integer in [low, high], both ends included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + integer(high - low + 1); }
  bool chance(double probability) { return uniform() < probability; }

  /// Fisher-Yates shuffle.
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      using std::swap;
      swap(values[i - 1], values[integer(i)]);
    }
  }

  /// One element, uniformly. Precondition: not empty.
  template <class T>
  const T& choose(const std::vector<T>& values) {
    return values[integer(values.size())];
  }

 private:
  std::uint64_t bits();

  Stream stream_;
  std::uint64_t next_ = 0;
  /// Bits of draw next_ and its neighbours, once the first of them has been drawn.
  std::array<std::uint64_t, 32> ahead_ = {};
};

/// The top 52 bits as a midpoint in (0, 1): never 0, never 1, and symmetric about 1/2.
double unit_interval(std::uint64_t bits);

/// The quantile function of the standard normal distribution; p in (0, 1). Built from +, -, *, /, sqrt alone, so that
/// it gives the same bits with every standard library.
double normal_quantile(double p);

}  // namespace surd::random
