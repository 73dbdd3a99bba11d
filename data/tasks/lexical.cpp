#include "data/tasks/lexical.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace surd {
namespace {

/// Draws rank r of 0 .. size-1 with probability proportional to (r + 1)^-exponent, by inversion.
class ZipfDistribution {
 public:
  ZipfDistribution(std::size_t size, double exponent) : cumulative_(size) {
    double sum = 0;
    for (std::size_t r = 0; r < size; ++r) cumulative_[r] = sum += std::pow(static_cast<double>(r + 1), -exponent);
  }

  std::size_t operator()(random::Sequence& draw) const {
    const double at = draw.uniform() * cumulative_.back();
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at);
    return static_cast<std::size_t>(found - cumulative_.begin());
  }

 private:
  std::vector<double> cumulative_;
};

}  // namespace

void LexicalOptions::fields(Fields& f) {
  SequenceOptions::fields(f);
  f("zipf_exponent", zipf_exponent, "how much more frequent the first symbols are: 0 = not at all, 1 = Zipf's law",
    between(0, 10));
}

LexicalTask::LexicalTask(Options options) : options_(options) { check_options("lexical", options_); }

std::vector<std::size_t> LexicalTask::bijection(std::uint64_t seed) const {
  std::vector<std::size_t> partner(options_.vocabulary);
  std::iota(partner.begin(), partner.end(), std::size_t{0});
  random::Sequence(random::Stream(seed, "data", "lexical.bijection")).shuffle(partner);
  return partner;
}

Corpus LexicalTask::load(std::uint64_t seed) const {
  const auto symbols = symbol_names(options_.vocabulary);
  const auto partner = bijection(seed);
  const ZipfDistribution distribution(options_.vocabulary, options_.zipf_exponent);
  Corpus corpus(format());
  corpus.source_symbols = corpus.target_symbols = symbols;
  corpus.splits = DistinctExamples("lexical", seed).deal(options_, [&](random::Sequence& draw) {
    std::vector<std::size_t> sequence(draw.between(options_.min_length, options_.max_length));
    for (std::size_t& element : sequence) element = distribution(draw);
    const std::string source = sentence_of(symbols, sequence);
    for (std::size_t& element : sequence) element = partner[element];
    return TextPair{source, sentence_of(symbols, sequence)};
  });
  return corpus;
}

}  // namespace surd
