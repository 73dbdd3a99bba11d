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

  /// Of a padded matrix [B, T, width] the positions that are not padding, [N, width].
  template <class T>
  std::vector<T> taken_from(const std::vector<T>& matrix) const {
    expect(matrix.size() == count() * longest_, "ragged rows", "{} elements for {} rows of {}", matrix.size(), count(),
           longest_);
    std::vector<T> taken;
    taken.reserve(positions());
    for (std::size_t b = 0; b < count(); ++b) {
      const auto row = matrix.begin() + static_cast<std::ptrdiff_t>(b * longest_);
      taken.insert(taken.end(), row, row + static_cast<std::ptrdiff_t>(length(b)));
    }
    return taken;
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
