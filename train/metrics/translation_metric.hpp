#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// How near translations are to their references, from 0 to 100. What is counted in a line adds up over the lines, and
/// the score is a function of the sums, so that a sample of the lines is scored by adding. BLEU and chrF are defined
/// and printed as sacreBLEU does (Post, A Call for Clarity in Reporting BLEU Scores, WMT 2018).
class TranslationMetric {
 public:
  using Counts = std::vector<std::size_t>;

  virtual ~TranslationMetric() = default;

  virtual std::string name() const = 0;
  /// What two scores must share to be compared, "nrefs:1|case:mixed|...", without a version.
  virtual std::string signature() const = 0;

  /// Counts of one line, always equally many. Both texts are valid UTF-8; white space at their ends does not matter.
  virtual Counts count(std::string_view translation, std::string_view reference) const = 0;
  /// Of sums of what count() returns.
  virtual double score(const Counts& sums) const = 0;
  /// What a score is made of, in words; "" where there is nothing to say.
  virtual std::string details(const Counts& /*sums*/) const { return ""; }
};

/// Counts of each line of one system.
using CountsOfLines = std::vector<TranslationMetric::Counts>;

/// Throws Error where there are not as many translations as references.
CountsOfLines count_lines(const TranslationMetric& metric, const std::vector<std::string>& translations,
                          const std::vector<std::string>& references);

/// Their sums. Throws Error where there is no line.
TranslationMetric::Counts sum_of(const CountsOfLines& lines);

/// Adds the counts of a line.
void add_counts(const TranslationMetric::Counts& line, TranslationMetric::Counts& sums);

}  // namespace surd
