#include "train/metrics/chrf.hpp"

#include "train/metrics/ngrams.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace surd {
namespace {

constexpr double beta = 2;  // how much more recall weighs

std::u32string without_white_space(std::u32string text) {
  text.erase(std::remove_if(text.begin(), text.end(), is_white_space), text.end());
  return text;
}

bool is_punctuation(char32_t c) {
  return (c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') || (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
}

/// Words with a mark of ASCII punctuation at their end, or else at their start, apart.
std::vector<std::u32string> words_of(std::u32string_view text) {
  std::vector<std::u32string> words;
  for (const std::u32string& word : split_at_white_space(text)) {
    const bool at_end = word.size() > 1 && is_punctuation(word.back());
    const bool at_start = word.size() > 1 && !at_end && is_punctuation(word.front());
    const std::size_t first = at_end ? word.size() - 1 : at_start ? 1 : word.size();
    words.push_back(word.substr(0, first));
    if (first < word.size()) words.push_back(word.substr(first));
  }
  return words;
}

}  // namespace

std::string Chrf::signature() const {
  return fmt::format("nrefs:1|case:mixed|eff:yes|nc:{}|nw:{}|space:no", longest, words_);
}

TranslationMetric::Counts Chrf::count(std::string_view translation, std::string_view reference) const {
  const std::u32string translation_points = code_points(translation), reference_points = code_points(reference);
  Counts counts;
  const auto add = [&](std::u32string_view of_translation, std::u32string_view of_reference, std::size_t n) {
    const NgramCounts of_n = count_ngrams(of_translation, of_reference, n);
    counts.push_back(of_n.reference > 0 ? of_n.translation : 0);  // else there is nothing to be precise about
    counts.push_back(of_n.reference);
    counts.push_back(of_n.matching);
  };
  const std::u32string left = without_white_space(translation_points), right = without_white_space(reference_points);
  for (std::size_t n = 1; n <= longest; ++n) add(left, right, n);
  if (words_ > 0) {
    const NumberedWords words(words_of(translation_points), words_of(reference_points));
    for (std::size_t n = 1; n <= words_; ++n) add(words.translation, words.reference, n);
  }
  return counts;
}

double Chrf::score(const Counts& sums) const {
  double precision = 0, recall = 0, orders = 0;
  for (std::size_t i = 0; i < sums.size(); i += 3) {
    if (sums[i] == 0 || sums[i + 1] == 0) continue;
    precision += static_cast<double>(sums[i + 2]) / static_cast<double>(sums[i]);
    recall += static_cast<double>(sums[i + 2]) / static_cast<double>(sums[i + 1]);
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  return 100 * (1 + beta * beta) * precision * recall / (beta * beta * precision + recall);
}

}  // namespace surd
