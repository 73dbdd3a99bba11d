#include "data/vocabulary.hpp"

#include "autograd/base/utf8.hpp"
#include "data/lines.hpp"
#include "data/text.hpp"

#include <algorithm>

namespace surd {
namespace {

const std::vector<std::string>& special_tokens() {
  static const std::vector<std::string> tokens = {"<pad>", "<s>", "</s>", "<unk>"};
  return tokens;
}

bool is_special(const std::string& token) {
  const auto& specials = special_tokens();
  return std::find(specials.begin(), specials.end(), token) != specials.end();
}

}  // namespace

void VocabularyOptions::fields(Fields& f) {
  f("min_frequency", min_frequency, "a token must occur this often in the training split to get an entry", at_least(1));
  f("size_limit", size_limit, "most entries of a vocabulary, the four special tokens included; rarer ones are unknown",
    between(Vocabulary::specials + 1, Vocabulary::largest_size));
}

Vocabulary::Vocabulary() : tokens_(special_tokens()) {}

bool Vocabulary::can_hold(const std::string& token) {
  if (find_invalid_utf8(token)) return false;
  const auto words = tokenize(token, Tokenization::words);
  return words.size() == 1 && words.front() == token;
}

/// Gives the token the next id; false when it has one.
bool Vocabulary::insert(const std::string& token) {
  if (is_special(token)) return false;
  if (!ids_.emplace(token, static_cast<TokenId>(tokens_.size())).second) return false;
  tokens_.push_back(token);
  return true;
}

Vocabulary Vocabulary::build(const TokenCounts& counts, const VocabularyOptions& options) {
  check_options("vocabulary", options);
  std::vector<TokenCounts::const_pointer> candidates;
  for (const auto& entry : counts) {
    expect(can_hold(entry.first), "vocabulary", "a token must be UTF-8, not empty and free of white space; got {:?}",
           entry.first);
    if (entry.second >= options.min_frequency && !is_special(entry.first)) candidates.push_back(&entry);
  }
  std::sort(candidates.begin(), candidates.end(), [](const auto* a, const auto* b) {
    return a->second != b->second ? a->second > b->second : a->first < b->first;
  });
  const std::size_t limit = options.size_limit.value_or(largest_size) - specials;
  if (candidates.size() > limit) candidates.resize(limit);

  Vocabulary vocabulary;
  for (const auto* candidate : candidates) vocabulary.insert(candidate->first);
  return vocabulary;
}

Vocabulary Vocabulary::build(const std::vector<std::vector<std::string>>& sentences, const VocabularyOptions& options) {
  TokenCounts counts;
  for (const auto& sentence : sentences)
    for (const std::string& token : sentence) ++counts[token];
  return build(counts, options);
}

TokenId Vocabulary::id(const std::string& token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? unk : found->second;
}

std::vector<TokenId> Vocabulary::ids(const std::vector<std::string>& tokens) const {
  std::vector<TokenId> ids;
  ids.reserve(tokens.size() + 1);
  for (const std::string& token : tokens) ids.push_back(id(token));
  return ids;
}

const std::string& Vocabulary::token(TokenId id) const {
  expect(id >= 0 && static_cast<std::size_t>(id) < tokens_.size(), "vocabulary", "an id must be in [0, {}); got {}",
         tokens_.size(), id);
  return tokens_[static_cast<std::size_t>(id)];
}

std::string Vocabulary::text() const {
  std::string lines;
  for (const std::string& token : tokens_) lines += token + '\n';
  return lines;
}

void Vocabulary::save(const std::string& path) const { write_bytes(path, text()); }

Vocabulary Vocabulary::load(const std::string& path) {
  LineReader lines(path);
  Vocabulary vocabulary;
  std::string token;
  while (lines.next(token)) {
    const std::size_t line = lines.line_number();
    const auto require = [&](bool holds, const std::string& rule) {
      if (!holds) throw Error(fmt::format("{}:{}: {}", path, line, rule));
    };
    if (line <= specials) {
      const std::string& special = special_tokens()[line - 1];
      require(token == special, fmt::format("a vocabulary's line {} must be {}; got '{}'", line, special, token));
      continue;
    }
    require(can_hold(token), fmt::format("a token must not be empty or hold white space; got '{}'", token));
    require(line <= largest_size, fmt::format("a vocabulary has at most {} tokens", largest_size));
    require(vocabulary.insert(token), fmt::format("'{}' is listed twice", token));
  }
  if (lines.line_number() < specials) {
    throw Error(fmt::format("{}:{}: the file ends before the special tokens {}", path, lines.line_number() + 1,
                            fmt::join(special_tokens(), ", ")));
  }
  return vocabulary;
}

}  // namespace surd
