#pragma once

#include "train/metrics/translation_metric.hpp"

#include <array>

namespace surd {

/// How BLEU cuts a line into the words that it counts.
enum class BleuTokenization {
  mteval_13a,     ///< "13a": ASCII punctuation apart, entities such as &quot; written out; what WMT reports
  none,           ///< at white space alone, for text that is tokenized already
  characters,     ///< "char": each character
  international,  ///< "intl": Unicode punctuation and symbols apart, as mteval-v14 does
};
std::vector<std::string> names_of(BleuTokenization);

/// The words of a line, each as its code points.
std::vector<std::u32string> bleu_words(std::string_view line, BleuTokenization tokenization);

/// BLEU-4 with one reference (Papineni et al., ACL 2002): the geometric mean of the precisions of 1- to 4-grams, times
/// a penalty for brevity. A precision of 0 is smoothed "exp": 1/2 of a match, the next one 1/4 and so on (mteval-v13a;
/// Chen & Cherry, WMT 2014, method 3). Where nothing matches, or no translation has four words, the score is 0.
class Bleu : public TranslationMetric {
 public:
  static constexpr std::size_t longest = 4;

  explicit Bleu(BleuTokenization tokenization) : tokenization_(tokenization) {}

  std::string name() const override { return "BLEU"; }
  std::string signature() const override;
  /// Words of the translation, of the reference, matching n-grams for n = 1 ... 4, n-grams of the translation.
  Counts count(std::string_view translation, std::string_view reference) const override;
  double score(const Counts& sums) const override;
  /// The four precisions, the penalty, and both lengths in words.
  std::string details(const Counts& sums) const override;

 private:
  BleuTokenization tokenization_;
};

}  // namespace surd
