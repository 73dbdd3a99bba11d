#pragma once

#include "train/metrics/translation_metric.hpp"

namespace surd {

/// chrF2 with one reference (Popović, WMT 2015): the F-score with a recall that weighs twice as much as the precision,
/// of n-grams of 1 to 6 characters without white space, both averaged over those n that occur on both sides. With
/// n-grams of words as well it is chrF2+ (one word) or chrF2++ (two; Popović, WMT 2017).
class Chrf : public TranslationMetric {
 public:
  static constexpr std::size_t longest = 6;  ///< in characters

  explicit Chrf(std::size_t words) : words_(words) {}

  std::string name() const override { return "chrF2" + std::string(words_, '+'); }
  std::string signature() const override;
  /// For each n: n-grams of the translation, of the reference, and matches.
  Counts count(std::string_view translation, std::string_view reference) const override;
  double score(const Counts& sums) const override;

 private:
  std::size_t words_;  // longest n-gram of words; 0: none
};

}  // namespace surd
