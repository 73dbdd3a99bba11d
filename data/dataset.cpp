#include "data/dataset.hpp"

#include <algorithm>

namespace surd {
namespace {

/// How often each token occurs on one side of the training split. Symbols count as if they were frequent enough.
TokenCounts count_side(const Corpus& corpus, std::string TextPair::*side, const std::vector<std::string>& symbols) {
  TokenCounts counts;
  for (const std::string& symbol : symbols) counts[symbol] += corpus.vocabulary.min_frequency;
  for (const TextPair& pair : corpus.split("train").pairs)
    count_tokens(tokenize(pair.*side, corpus.tokenization), counts);
  return counts;
}

std::vector<TokenId> ids_of(const std::vector<std::string>& tokens, const Vocabulary& vocabulary) {
  std::vector<TokenId> ids;
  for (const std::string& token : tokens) ids.push_back(vocabulary.id(token));
  return ids;
}

bool has_unknown(const std::vector<TokenId>& ids) {
  return std::find(ids.begin(), ids.end(), Vocabulary::unk) != ids.end();
}

}  // namespace

UnknownShare unknown_share(const std::vector<SentencePair>& pairs) {
  std::size_t source = 0, target = 0, source_tokens = 0, target_tokens = 0;
  const auto unknown = [](const std::vector<TokenId>& ids) {
    return static_cast<std::size_t>(std::count(ids.begin(), ids.end(), Vocabulary::unk));
  };
  for (const SentencePair& pair : pairs) {
    source += unknown(pair.source);
    target += unknown(pair.target);
    source_tokens += pair.source.size() - 1;  // without eos
    target_tokens += pair.target.size();
  }
  const auto share = [](std::size_t count, std::size_t of) {
    return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of);
  };
  return {share(source, source_tokens), share(target, target_tokens)};
}

TextCodec::TextCodec(const TextFormat& format, Vocabulary source_vocabulary, Vocabulary target_vocabulary)
    : tokenization_(format.tokenization),
      subword_marker_(format.subword_marker),
      shared_vocabulary_(format.shared_vocabulary),
      source_vocabulary_(std::move(source_vocabulary)),
      target_vocabulary_(std::move(target_vocabulary)) {
  expect(!shared_vocabulary_ || source_vocabulary_ == target_vocabulary_, "vocabulary",
         "source and target must have the same tokens where the vocabulary is shared; got different ones, of {} and {}",
         source_vocabulary_.size(), target_vocabulary_.size());
}

TextCodec TextCodec::build(const Corpus& corpus) {
  TokenCounts source = count_side(corpus, &TextPair::source, corpus.source_symbols);
  const TokenCounts target = count_side(corpus, &TextPair::target, corpus.target_symbols);
  if (!corpus.shared_vocabulary)
    return {corpus, Vocabulary::build(source, corpus.vocabulary), Vocabulary::build(target, corpus.vocabulary)};
  for (const auto& [token, count] : target) source[token] += count;
  const Vocabulary shared = Vocabulary::build(source, corpus.vocabulary);
  return {corpus, shared, shared};
}

TextCodec TextCodec::load(const std::string& directory, const TextFormat& format) {
  return {format, Vocabulary::load(directory + "/source.txt"), Vocabulary::load(directory + "/target.txt")};
}

void TextCodec::save(const std::string& directory) const {
  source_vocabulary_.save(directory + "/source.txt");
  target_vocabulary_.save(directory + "/target.txt");
}

SentencePair TextCodec::encode(const TextPair& pair) const {
  const std::vector<std::string> target = tokens(pair.target);
  SentencePair encoded{encode_source(pair.source), ids_of(target, target_vocabulary_)};
  if (has_unknown(encoded.target)) encoded.target_text = detokenize(target, tokenization_, subword_marker_);
  return encoded;
}

std::vector<TokenId> TextCodec::encode_source(std::string_view line) const {
  std::vector<TokenId> ids = ids_of(tokens(line), source_vocabulary_);
  ids.push_back(Vocabulary::eos);
  return ids;
}

std::vector<TokenId> TextCodec::encode_target(std::string_view line) const {
  return ids_of(tokens(line), target_vocabulary_);
}

std::string TextCodec::decode(const std::vector<TokenId>& ids, const Vocabulary& vocabulary) const {
  std::vector<std::string> tokens;
  for (const TokenId id : ids) {
    if (id == Vocabulary::eos) break;
    if (id != Vocabulary::bos && id != Vocabulary::pad) tokens.push_back(vocabulary.token(id));
  }
  return detokenize(tokens, tokenization_, subword_marker_);
}

std::string TextCodec::decode_source(const std::vector<TokenId>& ids) const { return decode(ids, source_vocabulary_); }

std::string TextCodec::decode_target(const std::vector<TokenId>& ids) const { return decode(ids, target_vocabulary_); }

std::string TextCodec::reference(const SentencePair& pair) const {
  return pair.target_text.empty() ? decode_target(pair.target) : pair.target_text;
}

bool TextCodec::is_right(const SentencePair& pair, const std::vector<TokenId>& translation) const {
  if (has_unknown(translation)) return false;
  if (translation == pair.target) return true;
  // Other tokens are another text, unless they are pieces of words.
  return !subword_marker_.empty() && decode_target(translation) == reference(pair);
}

std::size_t TextCodec::most_tokens(const SentencePair& pair) const {
  if (subword_marker_.empty()) return pair.target.size();
  // A word has no more pieces than characters.
  return std::max(pair.target.size(), tokenize(reference(pair), Tokenization::characters).size());
}

Dataset::Dataset(const Corpus& corpus) : Dataset(corpus, TextCodec::build(corpus)) {}

Dataset::Dataset(const Corpus& corpus, TextCodec text_codec) : codec(std::move(text_codec)) {
  for (const Split& split : corpus.splits) {
    EncodedSplit encoded{split.name, {}};
    encoded.pairs.reserve(split.pairs.size());
    for (const TextPair& pair : split.pairs) encoded.pairs.push_back(codec.encode(pair));
    splits.push_back(std::move(encoded));
  }
}

const std::vector<SentencePair>& Dataset::split(std::string_view name) const& {
  std::vector<std::string> names;
  for (const EncodedSplit& split : splits) {
    if (split.name == name) return split.pairs;
    names.push_back(split.name);
  }
  throw Error(fmt::format("dataset: there is no split '{}'; there are {}", name, fmt::join(names, ", ")));
}

}  // namespace surd
