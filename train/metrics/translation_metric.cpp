#include "train/metrics/translation_metric.hpp"

#include "autograd/base/error.hpp"

namespace surd {

std::vector<TranslationMetric::Counts> count_lines(const TranslationMetric& metric,
                                                   const std::vector<std::string>& translations,
                                                   const std::vector<std::string>& references) {
  expect(translations.size() == references.size(), metric.name(), "{} translations and {} references",
         translations.size(), references.size());
  std::vector<TranslationMetric::Counts> lines;
  for (std::size_t i = 0; i < translations.size(); ++i) lines.push_back(metric.count(translations[i], references[i]));
  return lines;
}

TranslationMetric::Counts sum_of(const std::vector<TranslationMetric::Counts>& lines) {
  expect(!lines.empty(), "translation metric", "there are no lines");
  TranslationMetric::Counts sums(lines.front().size());
  for (const TranslationMetric::Counts& line : lines)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += line[i];
  return sums;
}

}  // namespace surd
