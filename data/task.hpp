#pragma once

#include "autograd/base/registry.hpp"
#include "data/tokenizer.hpp"
#include "data/vocabulary.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Tasks, and the way of their text into batches: a Task gives a Corpus, a Dataset turns it into ids, a Batcher cuts it
/// into batches. This room uses autograd/base and nothing else of the project. Start here; to add a task, read
/// tasks/copy.cpp, the shortest, and the table in task.cpp.
namespace surd {

/// A sentence and its translation, as text.
struct TextPair {
  std::string source;  ///< "" where the corpus is of texts alone
  std::string target;
};

/// A named part of a corpus: "train", "valid", "test", or a further test split.
struct Split {
  std::string name;
  std::vector<TextPair> pairs;
  std::size_t blank = 0;  ///< pairs with a blank source or target, which were left out
};

/// How a task's text turns into ids and back. Known before any data is read, so that a finished run can translate
/// without its corpus.
struct TextFormat {
  TokenizerChoice subwords = {tokenizers(), "words"};
  bool lowercase = false;                 ///< all text is put into lower case before it becomes tokens
  std::optional<std::size_t> max_length;  ///< pairs with more tokens than this on a side are left out of a Dataset
  bool shared_vocabulary = false;
  bool one_sided = false;  ///< texts alone: pairs have no source, and the vocabulary is shared
  VocabularyOptions vocabulary = {};
  /// Whether the text may hold any word, as that of files may: then a run tells how many tokens are unknown even where
  /// none is.
  bool open_vocabulary = false;

  /// What cuts its lines, where it need not learn first.
  std::unique_ptr<Tokenizer> tokenizer() const;
};

/// What a task gives: text, and how it is to be read. There are always the splits "train", "valid" and "test", in this
/// order; some tasks add further test splits.
struct Corpus : TextFormat {
  explicit Corpus(TextFormat format = {}) : TextFormat(std::move(format)) {}

  /// Throws Error, naming the splits there are, when there is no such split.
  const Split& split(std::string_view name) const&;
  const Split& split(std::string_view name) const&& = delete;  // it would not outlive the corpus

  std::vector<Split> splits;
  /// Tokens that get an entry in the vocabularies even where the training split happens not to use them.
  std::vector<std::string> source_symbols;
  std::vector<std::string> target_symbols;
};

/// Where a corpus comes from: a language generated from a seed, or files. An implementation names its options struct
/// `Options` and is constructed from it; its constructor throws Error when an option is out of range.
class Task {
 public:
  virtual ~Task() = default;

  virtual TextFormat format() const = 0;

  /// The corpus in `format()`, a pure function of the options and the seed (parallel_text and text: of the files,
  /// whatever the seed). No source sentence of a generated corpus occurs twice, in one split or in two. Throws Error
  /// when the options ask for more distinct examples than the task has, or when a file cannot be used.
  virtual Corpus load(std::uint64_t seed) const = 0;
  /// Whether load() depends on the seed. Where it does not, a study loads once for runs of all seeds, and again only
  /// where a file that an option names has changed.
  virtual bool takes_seed() const { return true; }
};

/// The tasks by name: copy, reverse, lexical, sort, dates, grammar, addition, parallel_text, text, and those a program
/// adds.
Registry<Task()>& tasks();

}  // namespace surd
