#include "train/metrics/translation_metric.hpp"

#include "autograd/base/error.hpp"

namespace surd {

CountsOfLines count_lines(const TranslationMetric& metric, const std::vector<std::string>& translations,
                          const std::vector<std::string>& references) {
  expect(translations.size() == references.size(), metric.name(), "{} translations and {} references",
         translations.size(), references.size());
  CountsOfLines lines;
  for (std::size_t i = 0; i < translations.size(); ++i) lines.push_back(metric.count(translations[i], references[i]));
  return lines;
}

TranslationMetric::Counts sum_of(const CountsOfLines& lines) {
  expect(!lines.empty(), "translation metric", "there are no lines");
  TranslationMetric::Counts sums(lines.front().size());
  for (const TranslationMetric::Counts& line : lines) add_counts(line, sums);
  return sums;
}

void add_counts(const TranslationMetric::Counts& line, TranslationMetric::Counts& sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += line[i];
}

}  // namespace surd
