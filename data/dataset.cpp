#include "data/dataset.hpp"

#include "data/lines.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>

namespace surd {
namespace {

/// A tokenizer that has learned from these sides of the training split, if it learns at all.
std::shared_ptr<const Tokenizer> tokenizer_of(const Corpus& corpus, const std::vector<std::string TextPair::*>& sides) {
  std::shared_ptr<Tokenizer> tokenizer = corpus.tokenizer();
  if (!tokenizer->learns()) return tokenizer;
  std::vector<std::string> lines;
  for (const auto side : sides)
    for (const TextPair& pair : corpus.split("train").pairs) lines.push_back(pair.*side);
  tokenizer->learn(lines);
  return tokenizer;
}

/// One side of the training split, its lines cut into tokens once, for counting and for ids: a line is a list of token
/// numbers, in the order in which tokens are met, until they become ids.
class TrainingSide {
 public:
  TrainingSide(const std::vector<TextPair>& pairs, std::string TextPair::*side, const Tokenizer& tokenizer)
      : tokenizer_(tokenizer) {
    lines_.reserve(pairs.size());
    std::vector<TokenId> numbers;
    const TokenVisitor count = [&](std::string_view token) {
      numbers.push_back(number_of(token));
      ++counts_[static_cast<std::size_t>(numbers.back())];
    };
    for (const TextPair& pair : pairs) {
      numbers.clear();
      tokenizer.for_each_token(pair.*side, count);
      std::vector<TokenId>& line = lines_.emplace_back();
      line.reserve(numbers.size() + 1);  // and an eos
      line = numbers;
    }
  }

  /// How often each token occurs. Symbols count as if they were frequent enough.
  TokenCounts counts(const std::vector<std::string>& symbols, std::size_t enough) const {
    TokenCounts counts;
    for (const std::string& symbol : symbols) counts[symbol] += enough;
    for (const std::string& token : tokenizer_.all_tokens()) counts[token] += enough;
    for (const auto& [token, number] : numbers_)
      if (!tokenizer_.closed() || counts.count(token) > 0) counts[token] += counts_[static_cast<std::size_t>(number)];
    return counts;
  }

  /// The lines, with the ids of their tokens.
  std::vector<std::vector<TokenId>> ids(const Vocabulary& vocabulary) && {
    std::vector<TokenId> id(counts_.size());
    for (const auto& [token, number] : numbers_) id[static_cast<std::size_t>(number)] = vocabulary.id(token);
    for (std::vector<TokenId>& line : lines_)
      for (TokenId& token : line) token = id[static_cast<std::size_t>(token)];
    return std::move(lines_);
  }

 private:
  /// A short token that was looked up.
  struct Recent {
    std::uint64_t token = 0;  // its bytes, behind their number and one; 0: none yet
    TokenId number = 0;
  };

  TokenId number_of(std::string_view token) {
    // Every token of a corpus passes here, and most are short and frequent.
    if (token.size() >= sizeof(Recent::token)) return number_in_table(token);
    std::uint64_t bytes = token.size() + 1;
    for (const char c : token) bytes = bytes << 8 | static_cast<unsigned char>(c);
    constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15;  // Knuth, The Art of Computer Programming 3, 6.4
    Recent& recent = recent_[bytes * golden_ratio >> (64 - recent_bits)];
    if (recent.token != bytes) recent = {bytes, number_in_table(token)};
    return recent.number;
  }

  TokenId number_in_table(std::string_view token) {
    const auto [entry, first_time] = numbers_.try_emplace(std::string(token), static_cast<TokenId>(counts_.size()));
    if (first_time) counts_.push_back(0);
    return entry->second;
  }

  static constexpr std::size_t recent_bits = 10;

  const Tokenizer& tokenizer_;
  std::vector<std::vector<TokenId>> lines_;
  std::array<Recent, std::size_t{1} << recent_bits> recent_;
  std::unordered_map<std::string, TokenId> numbers_;
  std::vector<std::size_t> counts_;  // of the tokens by their numbers
};

/// Tokens up to the first eos, without bos and pad.
std::vector<std::string> tokens_of(const std::vector<TokenId>& ids, const Vocabulary& vocabulary) {
  std::vector<std::string> tokens;
  for (const TokenId id : ids) {
    if (id == Vocabulary::eos) break;
    if (id != Vocabulary::bos && id != Vocabulary::pad) tokens.push_back(vocabulary.token(id));
  }
  return tokens;
}

bool has_unknown(const std::vector<TokenId>& ids) {
  return std::find(ids.begin(), ids.end(), Vocabulary::unk) != ids.end();
}

KnownTokens known_to(const Vocabulary& vocabulary) {
  return [&](const std::string& token) { return vocabulary.id(token) != Vocabulary::unk; };
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
    source_tokens += pair.source.empty() ? 0 : pair.source.size() - 1;  // without eos
    target_tokens += pair.target.size();
  }
  const auto share = [](std::size_t count, std::size_t of) {
    return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of);
  };
  return {share(source, source_tokens), share(target, target_tokens)};
}

TextCodec::TextCodec(const TextFormat& format, SharedTokenizer source_tokenizer, SharedTokenizer target_tokenizer,
                     Vocabulary source_vocabulary, Vocabulary target_vocabulary)
    : source_tokenizer_(std::move(source_tokenizer)),
      target_tokenizer_(std::move(target_tokenizer)),
      shared_vocabulary_(format.shared_vocabulary),
      one_sided_(format.one_sided),
      source_vocabulary_(std::move(source_vocabulary)),
      target_vocabulary_(std::move(target_vocabulary)) {
  expect(!one_sided_ || shared_vocabulary_, "vocabulary", "of texts alone must be shared");
  expect(!shared_vocabulary_ || source_vocabulary_ == target_vocabulary_, "vocabulary",
         "source and target must have the same tokens where the vocabulary is shared; got different ones, of {} and {}",
         source_vocabulary_.size(), target_vocabulary_.size());
}

TextCodec::TextCodec(const TextFormat& format, Vocabulary source_vocabulary, Vocabulary target_vocabulary)
    : TextCodec(format, format.tokenizer(), format.tokenizer(), std::move(source_vocabulary),
                std::move(target_vocabulary)) {
  expect(!source_tokenizer_->learns(), "subwords", "{} has learned nothing", format.subwords.name());
}

TextCodec TextCodec::build(const Corpus& corpus) {
  std::vector<SentencePair> not_needed;
  return build(corpus, not_needed);
}

TextCodec TextCodec::build(const Corpus& corpus, std::vector<SentencePair>& pairs) {
  std::vector<std::string TextPair::*> source_learns_from;
  if (!corpus.one_sided) source_learns_from.push_back(&TextPair::source);
  if (corpus.shared_vocabulary) source_learns_from.push_back(&TextPair::target);
  const SharedTokenizer of_source = tokenizer_of(corpus, source_learns_from);
  const SharedTokenizer of_target = corpus.shared_vocabulary ? of_source : tokenizer_of(corpus, {&TextPair::target});

  const std::vector<TextPair> none;
  const std::vector<TextPair>& train = corpus.split("train").pairs;
  TrainingSide source(corpus.one_sided ? none : train, &TextPair::source, *of_source);
  TrainingSide target(train, &TextPair::target, *of_target);
  const std::size_t enough = corpus.vocabulary.min_frequency;
  TokenCounts source_counts = source.counts(corpus.source_symbols, enough);
  const TokenCounts target_counts = target.counts(corpus.target_symbols, enough);
  if (corpus.shared_vocabulary)
    for (const auto& [token, count] : target_counts) source_counts[token] += count;
  const Vocabulary source_vocabulary = Vocabulary::build(source_counts, corpus.vocabulary);
  const Vocabulary target_vocabulary =
      corpus.shared_vocabulary ? source_vocabulary : Vocabulary::build(target_counts, corpus.vocabulary);
  TextCodec codec(corpus, of_source, of_target, source_vocabulary, target_vocabulary);

  auto sources = std::move(source).ids(source_vocabulary), targets = std::move(target).ids(target_vocabulary);
  sources.resize(train.size());
  pairs.reserve(pairs.size() + train.size());
  for (std::size_t i = 0; i < train.size(); ++i) {
    SentencePair& pair = pairs.emplace_back(SentencePair{std::move(sources[i]), std::move(targets[i])});
    if (!corpus.one_sided) pair.source.push_back(Vocabulary::eos);
    if (has_unknown(pair.target)) pair.target_text = codec.target_text(codec.target_tokens(train[i].target));
  }
  return codec;
}

TextCodec TextCodec::load(const std::string& directory, const TextFormat& format) {
  const auto read = [](const auto& load) {
    try {
      return load();
    } catch (const Error& error) {
      throw Error(fmt::format("{}; put the file back, or train again into another folder", error.what()));
    }
  };
  const auto tokenizer = [&](const std::string& side) -> SharedTokenizer {
    std::shared_ptr<Tokenizer> made = format.tokenizer();
    const std::string path = directory + "/" + side + ".model";
    if (made->learns()) read([&] { made->load(read_bytes(path), path); });
    return made;
  };
  const std::string source = directory + "/source.txt", target = directory + "/target.txt";
  Vocabulary of_source = read([&] { return Vocabulary::load(source); });
  Vocabulary of_target = read([&] { return Vocabulary::load(target); });
  expect(!format.shared_vocabulary || of_source == of_target, target,
         "differs from {}, and the two are one vocabulary; put back the one that was changed", source);
  return {format, tokenizer("source"), tokenizer("target"), std::move(of_source), std::move(of_target)};
}

std::map<std::string, std::string> TextCodec::files() const {
  std::map<std::string, std::string> files = {{"source.txt", source_vocabulary_.text()},
                                              {"target.txt", target_vocabulary_.text()}};
  if (source_tokenizer_->learns()) {
    files["source.model"] = source_tokenizer_->model();
    files["target.model"] = target_tokenizer_->model();
  }
  return files;
}

void TextCodec::save(const std::string& directory) const {
  for (const auto& [name, bytes] : files()) write_bytes(directory + "/" + name, bytes);
}

SentencePair TextCodec::encode(const TextPair& pair) const {
  const std::vector<std::string> target = target_tokens(pair.target);
  SentencePair encoded{one_sided_ ? std::vector<TokenId>() : encode_source(pair.source),
                       target_vocabulary_.ids(target)};
  if (has_unknown(encoded.target)) encoded.target_text = target_tokenizer_->text(target);
  return encoded;
}

std::vector<TokenId> TextCodec::encode_source(std::string_view line) const {
  std::vector<TokenId> ids = source_vocabulary_.ids(source_tokens(line));
  ids.push_back(Vocabulary::eos);
  return ids;
}

std::vector<TokenId> TextCodec::encode_target(std::string_view line) const {
  return target_vocabulary_.ids(target_tokens(line));
}

std::vector<std::string> TextCodec::source_tokens_of_text(std::string_view line) const {
  return source_tokenizer_->tokens_of_text(line, known_to(source_vocabulary_));
}

std::vector<std::string> TextCodec::target_tokens_of_text(std::string_view line) const {
  return target_tokenizer_->tokens_of_text(line, known_to(target_vocabulary_));
}

std::string TextCodec::decode_source(const std::vector<TokenId>& ids) const {
  return source_tokenizer_->text(tokens_of(ids, source_vocabulary_));
}

std::string TextCodec::decode_target(const std::vector<TokenId>& ids) const {
  return target_text(tokens_of(ids, target_vocabulary_));
}

std::string TextCodec::reference(const SentencePair& pair) const {
  return pair.target_text.empty() ? decode_target(pair.target) : pair.target_text;
}

bool TextCodec::is_right(const SentencePair& pair, const std::vector<TokenId>& translation) const {
  if (has_unknown(translation)) return false;
  if (translation == pair.target) return true;
  return target_tokenizer_->ambiguous() && decode_target(translation) == reference(pair);
}

std::size_t TextCodec::most_tokens(const SentencePair& pair) const {
  if (!target_tokenizer_->ambiguous()) return pair.target.size();
  // There are no more pieces than bytes, and a word's first may be the space before it.
  return std::max(pair.target.size(), reference(pair).size() + 1);
}

Dataset::Dataset(const Corpus& corpus) : Dataset(corpus, std::vector<SentencePair>()) {}

Dataset::Dataset(const Corpus& corpus, std::vector<SentencePair> train) : codec(TextCodec::build(corpus, train)) {
  for (const Split& split : corpus.splits)
    add(corpus, split, split.name == "train" ? std::exchange(train, {}) : encode(split));
}

Dataset::Dataset(const Corpus& corpus, TextCodec text_codec) : codec(std::move(text_codec)) {
  for (const Split& split : corpus.splits) add(corpus, split, encode(split));
}

std::vector<SentencePair> Dataset::encode(const Split& split) const {
  std::vector<SentencePair> pairs;
  pairs.reserve(split.pairs.size());
  for (const TextPair& pair : split.pairs) pairs.push_back(codec.encode(pair));
  return pairs;
}

void Dataset::add(const Corpus& corpus, const Split& split, std::vector<SentencePair> pairs) {
  const std::size_t most = corpus.max_length.value_or(std::numeric_limits<std::size_t>::max() - 1);
  const auto kept = std::remove_if(pairs.begin(), pairs.end(), [&](const SentencePair& ids) {
    return ids.source.size() > most + 1 || ids.target.size() > most;
  });
  const auto overlong = static_cast<std::size_t>(pairs.end() - kept);
  pairs.erase(kept, pairs.end());
  expect_option(!pairs.empty() || split.pairs.empty(), "task.max_length",
                "leaves no pair of the split {}: all {} are longer; set it higher", split.name, split.pairs.size());
  splits.push_back({split.name, std::move(pairs), overlong});
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
