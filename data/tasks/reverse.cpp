#include "data/tasks/reverse.hpp"

#include <algorithm>

namespace surd {

void ReverseOptions::fields(Fields& f) {
  SequenceOptions::fields(f);
  f("extra_length", extra_length, "the split test_long has sources of max_length + 1 to max_length + this",
    between(1, 1e4), Unit{"tokens"});
}

ReverseTask::ReverseTask(Options options) : options_(options) { check_options("reverse", options_); }

Corpus ReverseTask::load(std::uint64_t seed) const {
  const auto symbols = symbol_names(options_.vocabulary);
  const auto draw_from = [&](const SequenceOptions& options) {
    return [&](random::Sequence& draw) {
      auto sequence = draw_sequence(draw, options);
      const std::string source = sentence_of(symbols, sequence);
      std::reverse(sequence.begin(), sequence.end());
      return TextPair{source, sentence_of(symbols, sequence)};
    };
  };
  SequenceOptions longer = options_;
  longer.min_length = options_.max_length + 1;
  longer.max_length = options_.max_length + options_.extra_length;

  Corpus corpus(format());
  corpus.source_symbols = corpus.target_symbols = symbols;
  DistinctExamples examples("reverse", seed);
  corpus.splits = examples.deal(options_, draw_from(options_));
  corpus.splits.push_back(examples.split("test_long", options_.test_size, draw_from(longer)));
  return corpus;
}

}  // namespace surd
