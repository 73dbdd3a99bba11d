#include "data/tasks/sort.hpp"

#include <algorithm>

namespace surd {

SortTask::SortTask(Options options) : options_(options) { check_options("sort", options_); }

Corpus SortTask::load(std::uint64_t seed) const {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < options_.vocabulary; ++i) numbers.push_back(fmt::format("{}", i));
  Corpus corpus(format());
  corpus.source_symbols = corpus.target_symbols = numbers;
  corpus.splits = DistinctExamples("sort", seed).deal(options_, [&](random::Sequence& draw) {
    auto sequence = draw_sequence(draw, options_);
    const std::string source = sentence_of(numbers, sequence);
    std::sort(sequence.begin(), sequence.end());
    return TextPair{source, sentence_of(numbers, sequence)};
  });
  return corpus;
}

}  // namespace surd
