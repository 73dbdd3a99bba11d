#pragma once

#include "autograd/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace surd {

/// The rows of a batch without their padding, one behind another: [1, N, ...] instead of [B, T, ...].
class RaggedRows {
 public:
  /// Rows of these lengths, which would be padded to `longest`. Throws Error where there is none, or one is empty or
  /// longer.
  RaggedRows(const std::vector<std::size_t>& lengths, std::size_t longest) : longest_(longest), begins_{0} {
    expect(!lengths.empty(), "ragged rows", "there are none");
    for (const std::size_t length : lengths) {
      expect(length >= 1 && length <= longest, "ragged rows", "a row of {} positions; takes 1 to {}", length, longest);
      begins_.push_back(begins_.back() + length);
    }
  }

  std::size_t count() const { return begins_.size() - 1; }       ///< B
  std::size_t longest() const { return longest_; }               ///< T
  std::size_t positions() const { return begins_.back(); }       ///< N
  std::size_t begin(std::size_t b) const { return begins_[b]; }  ///< of row b, among the N
  std::size_t length(std::size_t b) const { return begins_[b + 1] - begins_[b]; }

  /// Of padded elements [B, T] those that are not padding, [N].
  template <class T>
  std::vector<T> taken_from(const std::vector<T>& padded) const {
    expect(padded.size() == count() * longest_, "ragged rows", "{} elements for {} rows of {}", padded.size(), count(),
           longest_);
    std::vector<T> taken;
    taken.reserve(positions());
    for (std::size_t b = 0; b < count(); ++b) {
      const auto row = padded.begin() + static_cast<std::ptrdiff_t>(b * longest_);
      taken.insert(taken.end(), row, row + static_cast<std::ptrdiff_t>(length(b)));
    }
    return taken;
  }
  /// Elements [N] with zeros for padding, [B, T].
  template <class T>
  std::vector<T> padded(const std::vector<T>& elements) const {
    expect(elements.size() == positions(), "ragged rows", "{} elements for {} positions", elements.size(), positions());
    std::vector<T> padded(count() * longest_);
    for (std::size_t b = 0; b < count(); ++b)
      std::copy_n(elements.begin() + static_cast<std::ptrdiff_t>(begin(b)), length(b),
                  padded.begin() + static_cast<std::ptrdiff_t>(b * longest_));
    return padded;
  }
  /// The place of each of the N positions in its row.
  std::vector<std::int32_t> places() const {
    std::vector<std::int32_t> places;
    places.reserve(positions());
    for (std::size_t b = 0; b < count(); ++b)
      for (std::size_t t = 0; t < length(b); ++t) places.push_back(static_cast<std::int32_t>(t));
    return places;
  }

 private:
  std::size_t longest_;
  std::vector<std::size_t> begins_;  // and the end of the last
};

}  // namespace surd
