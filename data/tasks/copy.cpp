#include "data/tasks/copy.hpp"

namespace surd {

CopyTask::CopyTask(Options options) : options_(options) { check_options("copy", options_); }

Corpus CopyTask::load(std::uint64_t seed) const {
  const auto symbols = symbol_names(options_.vocabulary);
  Corpus corpus(format());
  corpus.source_symbols = corpus.target_symbols = symbols;
  corpus.splits = DistinctExamples("copy", seed).deal(options_, [&](random::Sequence& draw) {
    std::string sentence = sentence_of(symbols, draw_sequence(draw, options_));
    return TextPair{sentence, std::move(sentence)};
  });
  return corpus;
}

}  // namespace surd
