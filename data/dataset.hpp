#pragma once

#include "data/sentence_pair.hpp"
#include "data/task.hpp"
#include "data/vocabulary.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// Shares of tokens that are not in the vocabulary, in [0, 1]; eos is not counted, and no tokens are a share of 0.
struct UnknownShare {
  double source = 0;
  double target = 0;
};
UnknownShare unknown_share(const std::vector<SentencePair>& pairs);

/// Turns text into ids and back. All that inference needs of the data.
class TextCodec {
 public:
  /// Of a format whose tokenizer learns nothing. Throws Error when the format wants a shared vocabulary and the two
  /// differ.
  TextCodec(const TextFormat& format, Vocabulary source_vocabulary, Vocabulary target_vocabulary);

  /// Lets tokenizers learn from the training split, and builds the vocabularies from it and the corpus's symbols. Where
  /// the vocabulary is shared, one tokenizer learns from both sides.
  static TextCodec build(const Corpus& corpus);

  /// Reads what save() wrote. Throws Error as Vocabulary::load() does, and where a model is missing or damaged.
  static TextCodec load(const std::string& directory, const TextFormat& format);
  /// What load() reads, by the name of the file: source.txt and target.txt, and source.model and target.model of
  /// tokenizers that learn.
  std::map<std::string, std::string> files() const;
  /// Writes these into a directory that exists. Throws Error when they cannot be written.
  void save(const std::string& directory) const;

  /// Both sides as ids, or of a one-sided corpus the target alone. Throws Error where a line is not valid UTF-8.
  SentencePair encode(const TextPair& pair) const;
  /// Ids of the line's tokens and eos. Throws Error where the line is not valid UTF-8.
  std::vector<TokenId> encode_source(std::string_view line) const;
  /// Ids of the line's tokens, without bos and eos. Throws Error where the line is not valid UTF-8.
  std::vector<TokenId> encode_target(std::string_view line) const;

  /// The line that ids stand for, up to the first eos; bos and pad are left out, and unk is written "<unk>". Throws
  /// Error for an id outside the vocabulary.
  std::string decode_source(const std::vector<TokenId>& ids) const;
  std::string decode_target(const std::vector<TokenId>& ids) const;
  /// The same of tokens, which the vocabulary may lack.
  std::string target_text(const std::vector<std::string>& tokens) const { return target_tokenizer_->text(tokens); }

  /// The text that a translation of the pair is compared with: its target as decode_target() writes a line, but with
  /// the words of the corpus even where the vocabulary lacks them.
  std::string reference(const SentencePair& pair) const;
  /// Whether a translation, ids without eos, has the text of the pair's reference. Words may be cut into other pieces;
  /// unk stands for no text, so a translation with one is never right.
  bool is_right(const SentencePair& pair, const std::vector<TokenId>& translation) const;
  /// Most tokens, without eos, of a translation that can be right.
  std::size_t most_tokens(const SentencePair& pair) const;

  /// The tokens as text, those that the vocabularies lack as well. Throws Error where the line is not valid UTF-8.
  std::vector<std::string> source_tokens(std::string_view line) const { return source_tokenizer_->tokens(line); }
  std::vector<std::string> target_tokens(std::string_view line) const { return target_tokenizer_->tokens(line); }

  /// The same of lines that need not be cut into pieces of words as the corpus is; see Tokenizer::tokens_of_text().
  std::vector<std::string> source_tokens_of_text(std::string_view line) const;
  std::vector<std::string> target_tokens_of_text(std::string_view line) const;

  const Vocabulary& source_vocabulary() const { return source_vocabulary_; }
  const Vocabulary& target_vocabulary() const { return target_vocabulary_; }
  bool shared_vocabulary() const { return shared_vocabulary_; }
  bool one_sided() const { return one_sided_; }  ///< of texts alone, without sources

 private:
  friend struct Dataset;
  using SharedTokenizer = std::shared_ptr<const Tokenizer>;

  /// As build() above, and appends the training split to `pairs` as encode() gives it, without cutting it anew.
  static TextCodec build(const Corpus& corpus, std::vector<SentencePair>& pairs);
  TextCodec(const TextFormat& format, SharedTokenizer source_tokenizer, SharedTokenizer target_tokenizer,
            Vocabulary source_vocabulary, Vocabulary target_vocabulary);

  SharedTokenizer source_tokenizer_;
  SharedTokenizer target_tokenizer_;
  bool shared_vocabulary_, one_sided_;
  Vocabulary source_vocabulary_;
  Vocabulary target_vocabulary_;
};

/// A split as ids.
struct EncodedSplit {
  std::string name;
  std::vector<SentencePair> pairs;  ///< in the order of the corpus
  std::size_t overlong = 0;         ///< pairs that were left out for their length
};

/// A corpus as ids, ready to be cut into batches.
struct Dataset {
  /// Builds the codec from the training split. Throws OptionError where max_length leaves a split without a pair, here
  /// and below.
  explicit Dataset(const Corpus& corpus);
  /// Uses given vocabularies, those of a finished run for instance.
  Dataset(const Corpus& corpus, TextCodec codec);

  /// Throws Error, naming the splits there are, when there is no such split.
  const std::vector<SentencePair>& split(std::string_view name) const&;
  const std::vector<SentencePair>& split(std::string_view name) const&& = delete;  // it would not outlive the dataset

  TextCodec codec;
  std::vector<EncodedSplit> splits;

 private:
  Dataset(const Corpus& corpus, std::vector<SentencePair> train);  // an empty one, which takes the training split

  std::vector<SentencePair> encode(const Split& split) const;
  /// Leaves out what is overlong.
  void add(const Corpus& corpus, const Split& split, std::vector<SentencePair> pairs);
};

}  // namespace surd
