#pragma once

#include "autograd/base/fields.hpp"
#include "autograd/base/machine_memory.hpp"
#include "autograd/base/random.hpp"
#include "data/task.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

/// What the tasks with generated languages have in common.
namespace surd {

/// Number of examples in each split.
struct SplitSizes {
  std::size_t train_size = 20000;
  std::size_t valid_size = 500;
  std::size_t test_size = 1000;

  void fields(Fields& f);
};

/// Options of the tasks over plain sequences of symbols.
struct SequenceOptions : SplitSizes {
  std::size_t vocabulary = 26;
  std::size_t min_length = 2;
  std::size_t max_length = 10;

  void fields(Fields& f);
};

/// Draws the examples of one corpus so that no source occurs twice, whichever split it is in.
class DistinctExamples {
 public:
  /// Draws one example; it may draw the same one again.
  using Draw = std::function<TextPair(random::Sequence&)>;

  /// If so many draws in a row give no new source, there are taken to be no more.
  static constexpr std::size_t patience = 100000;

  /// The draws are a function of the task's name and the seed. `memory`: bytes that the examples may take.
  DistinctExamples(std::string_view task, std::uint64_t seed, double memory = machine_memory_bytes());

  /// Draws `size` more examples. Throws OptionError when `patience` draws one after another give no new source: there
  /// are not as many distinct examples as were asked for; and where there is no memory for them.
  Split split(std::string name, std::size_t size, const Draw& draw);

  /// The splits "train", "valid" and "test": drawn as one set, shuffled and dealt, so that all three follow the same
  /// distribution even where it has few short sentences to give.
  std::vector<Split> deal(const SplitSizes& sizes, const Draw& draw);

 private:
  class Texts;

  /// Examples in the order in which they were drawn. `option` is the one to blame where there are too few.
  Texts draw_texts(const char* option, std::size_t size, const Draw& draw);

  /// Throws OptionError where so many pairs with so much text take more than the memory: what they need at least as
  /// they are dealt and turned into ids.
  void expect_room(const char* option, std::size_t pairs, double text_bytes) const;

  random::Sequence sequence_;
  double memory_;
  /// Hashes of the sources. Beside 20,000 others, one new source in 10^15 has the hash of another, and is drawn in
  /// vain.
  std::unordered_set<std::size_t> sources_;
};

/// Readable names of `size` symbols: "a".."z" where these are enough, else "w0", "w1", ...
std::vector<std::string> symbol_names(std::size_t size);

/// The texts of `symbols` at `indices`, separated by spaces.
std::string sentence_of(const std::vector<std::string>& symbols, const std::vector<std::size_t>& indices);

/// A sequence whose length is uniform in the options' range, and each of whose elements is uniform in [0, vocabulary).
std::vector<std::size_t> draw_sequence(random::Sequence& draw, const SequenceOptions& options);

/// Format of the tasks whose source and target are words of one language.
TextFormat one_language();

}  // namespace surd
