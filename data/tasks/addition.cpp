#include "data/tasks/addition.hpp"

#include <algorithm>

namespace surd {
namespace {

using Digits = std::vector<std::size_t>;  // least significant first

Digits draw_number(random::Sequence& draw, std::size_t max_digits) {
  Digits digits(draw.between(1, max_digits));
  for (std::size_t& digit : digits) digit = draw.integer(10);
  if (digits.size() > 1) digits.back() = draw.between(1, 9);
  return digits;
}

Digits sum(const Digits& a, const Digits& b) {
  Digits digits;
  std::size_t carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry > 0; ++i) {
    const std::size_t column = (i < a.size() ? a[i] : 0) + (i < b.size() ? b[i] : 0) + carry;
    digits.push_back(column % 10);
    carry = column / 10;
  }
  return digits;
}

}  // namespace

void AdditionOptions::fields(Fields& f) {
  SplitSizes::fields(f);
  f("max_digits", max_digits, "most digits of a summand", between(1, 1000), Unit{"digits"});
}

AdditionTask::AdditionTask(Options options) : options_(options) { check_options("addition", options_); }

Corpus AdditionTask::load(std::uint64_t seed) const {
  const std::vector<std::string> symbols = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+"};
  Corpus corpus(format());
  corpus.source_symbols = corpus.target_symbols = symbols;
  corpus.splits = DistinctExamples("addition", seed).deal(options_, [&](random::Sequence& draw) {
    const Digits a = draw_number(draw, options_.max_digits);
    const Digits b = draw_number(draw, options_.max_digits);
    return TextPair{sentence_of(symbols, a) + " + " + sentence_of(symbols, b), sentence_of(symbols, sum(a, b))};
  });
  return corpus;
}

}  // namespace surd
