#include "data/tasks/synthetic.hpp"

#include <functional>
#include <numeric>

namespace surd {

void SplitSizes::fields(Fields& f) {
  f("train_size", train_size, "examples to train on, all different", between(1, 1e8), Unit{"examples"});
  f("valid_size", valid_size, "examples to validate on, none of them trained on", between(1, 1e8), Unit{"examples"});
  f("test_size", test_size, "examples of each test split, none of them seen before", between(1, 1e8), Unit{"examples"});
}

void SequenceOptions::fields(Fields& f) {
  SplitSizes::fields(f);
  f("vocabulary", vocabulary, "number of different symbols", between(1, 1e6), Unit{"symbols"});
  f("min_length", min_length, "shortest source", between(1, 1e4), Unit{"tokens"});
  f("max_length", max_length,
    "longest source; lengths are drawn uniformly between the two, and of equal sources one is kept, so that there are "
    "fewer of the shortest",
    between(1, 1e4), Unit{"tokens"});
  f.rule(min_length <= max_length, "max_length", fmt::format("must be at least min_length = {}", min_length));
}

DistinctExamples::DistinctExamples(std::string_view task, std::uint64_t seed, double memory)
    : sequence_(random::Stream(seed, "data", task)), memory_(memory) {}

void DistinctExamples::expect_room(const char* option, std::size_t pairs, double text_bytes) const {
  constexpr double bytes_per_pair = 200, bytes_per_byte = 1.75, gib = 1 << 30;
  const double needed = bytes_per_pair * static_cast<double>(pairs) + bytes_per_byte * text_bytes;
  expect_option(needed <= memory_, option,
                "{} examples take more than the {:.1f} GiB of this machine's memory: ask for fewer in all splits "
                "together, or for shorter ones",
                pairs, memory_ / gib);
}

/// Texts of pairs, one behind the other: strings of their own would be read from all over the memory once shuffled.
class DistinctExamples::Texts {
 public:
  explicit Texts(std::size_t pairs) { ends_.reserve(1 + 2 * pairs); }

  std::size_t size() const { return ends_.size() / 2; }
  std::size_t bytes() const { return texts_.size(); }
  void add(const TextPair& pair) {
    for (const std::string* text : {&pair.source, &pair.target}) {
      texts_ += *text;
      ends_.push_back(texts_.size());
    }
  }
  TextPair at(std::size_t index) const { return {text(2 * index), text(2 * index + 1)}; }

 private:
  std::string text(std::size_t index) const { return texts_.substr(ends_[index], ends_[index + 1] - ends_[index]); }

  std::string texts_;
  std::vector<std::size_t> ends_ = {0};  // of what comes before the first, of a source, of its target, ...
};

DistinctExamples::Texts DistinctExamples::draw_texts(const char* option, std::size_t size, const Draw& draw) {
  constexpr std::size_t enough_to_tell = 1000;  // how long texts are
  const std::size_t all = sources_.size() + size;
  expect_room(option, all, 0);
  Texts texts(size);
  sources_.reserve(sources_.size() + size);
  std::size_t repeats = 0;
  while (texts.size() < size) {
    const TextPair pair = draw(sequence_);
    if (sources_.insert(std::hash<std::string>()(pair.source)).second) {
      texts.add(pair);
      if (texts.size() == enough_to_tell)
        expect_room(option, all, static_cast<double>(all) * static_cast<double>(texts.bytes()) / enough_to_tell);
      repeats = 0;
      continue;
    }
    expect_option(++repeats < patience, option,
                  "{} distinct examples are asked for, but only {} were found, and {} further draws gave no new one; "
                  "ask for fewer in all splits together, or allow more or longer ones",
                  sources_.size() - texts.size() + size, sources_.size(), patience);
  }
  return texts;
}

Split DistinctExamples::split(std::string name, std::size_t size, const Draw& draw) {
  const Texts texts = draw_texts("task.test_size", size, draw);
  Split split{std::move(name), {}};
  split.pairs.reserve(size);
  for (std::size_t i = 0; i < size; ++i) split.pairs.push_back(texts.at(i));
  return split;
}

std::vector<Split> DistinctExamples::deal(const SplitSizes& sizes, const Draw& draw) {
  // Most examples are trained on, so train_size is the option to blame where there are too few.
  const Texts texts = draw_texts("task.train_size", sizes.train_size + sizes.valid_size + sizes.test_size, draw);
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  sequence_.shuffle(order);
  auto next = order.cbegin();
  const auto take = [&](const char* name, std::size_t size) {
    Split split{name, {}};
    split.pairs.reserve(size);
    for (; split.pairs.size() < size; ++next) split.pairs.push_back(texts.at(*next));
    return split;
  };
  std::vector<Split> splits;
  splits.push_back(take("train", sizes.train_size));
  splits.push_back(take("valid", sizes.valid_size));
  splits.push_back(take("test", sizes.test_size));
  return splits;
}

std::vector<std::string> symbol_names(std::size_t size) {
  std::vector<std::string> names;
  names.reserve(size);
  for (std::size_t i = 0; i < size; ++i)
    names.push_back(size <= 26 ? std::string(1, static_cast<char>('a' + i)) : fmt::format("w{}", i));
  return names;
}

std::string sentence_of(const std::vector<std::string>& symbols, const std::vector<std::size_t>& indices) {
  std::string sentence;
  sentence.reserve(4 * indices.size());
  for (const std::size_t index : indices) {
    if (!sentence.empty()) sentence += ' ';
    sentence += symbols.at(index);
  }
  return sentence;
}

std::vector<std::size_t> draw_sequence(random::Sequence& draw, const SequenceOptions& options) {
  std::vector<std::size_t> sequence(draw.between(options.min_length, options.max_length));
  for (std::size_t& element : sequence) element = draw.integer(options.vocabulary);
  return sequence;
}

TextFormat one_language() {
  TextFormat format;
  format.shared_vocabulary = true;
  return format;
}

}  // namespace surd
