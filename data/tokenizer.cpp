#include "data/tokenizer.hpp"

#include "data/sentence_piece.hpp"
#include "data/text.hpp"

#include <fmt/format.h>

#include <charconv>

namespace surd {

std::vector<std::string> Words::tokens(std::string_view line) const { return tokenize(line, Tokenization::words); }

void Words::for_each_token(std::string_view line, const TokenVisitor& f) const {
  surd::for_each_token(line, Tokenization::words, f);
}

std::vector<std::string> Words::tokens_of_text(std::string_view line, const KnownTokens& known) const {
  std::vector<std::string> all;
  for (const std::string& word : tokens(line)) {
    std::vector<std::string> cut;
    if (!marker_.empty() && !known(word)) cut = pieces(word, known);
    if (cut.empty()) cut = {word};
    all.insert(all.end(), cut.begin(), cut.end());
  }
  return all;
}

std::vector<std::string> Words::pieces(const std::string& word, const KnownTokens& known) const {
  constexpr std::size_t longest = 200, none = longest + 1;  // bytes: every pair of places in the word is looked at
  const std::size_t length = word.size();
  if (length > longest) return {};
  const auto piece = [&](std::size_t begin, std::size_t end) {
    return word.substr(begin, end - begin) + (end < length ? marker_ : "");
  };
  std::vector<std::size_t> count(length + 1, none), next(length + 1);  // of pieces from here on; where the first ends
  count[length] = 0;
  for (std::size_t begin = length; begin-- > 0;)
    for (std::size_t end = length; end > begin; --end) {
      if (count[end] + 1 >= count[begin] || !known(piece(begin, end))) continue;
      count[begin] = count[end] + 1;
      next[begin] = end;
    }
  std::vector<std::string> cut;
  if (count[0] == none) return cut;
  for (std::size_t begin = 0; begin < length; begin = next[begin]) cut.push_back(piece(begin, next[begin]));
  return cut;
}

std::string Words::text(const std::vector<std::string>& tokens) const {
  return detokenize(tokens, Tokenization::words, marker_);
}

std::vector<std::string> Characters::tokens(std::string_view line) const {
  return tokenize(line, Tokenization::characters);
}
void Characters::for_each_token(std::string_view line, const TokenVisitor& f) const {
  surd::for_each_token(line, Tokenization::characters, f);
}
std::string Characters::text(const std::vector<std::string>& tokens) const {
  return detokenize(tokens, Tokenization::characters);
}

std::string byte_token(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

std::optional<unsigned char> byte_of(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token.back() != '>') return std::nullopt;
  unsigned char byte = 0;
  const auto read = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  if (read.ec != std::errc() || read.ptr != token.data() + 5) return std::nullopt;
  return byte;
}

std::vector<std::string> Bytes::tokens(std::string_view line) const {
  expect_utf8(line);
  std::vector<std::string> tokens;
  for (const char c : line) tokens.push_back(byte_token(static_cast<unsigned char>(c)));
  return tokens;
}

std::string Bytes::text(const std::vector<std::string>& tokens) const {
  std::string bytes;
  for (const std::string& token : tokens) {
    const auto byte = byte_of(token);
    byte ? bytes += static_cast<char>(*byte) : bytes += token;
  }
  return valid_utf8(bytes);
}

std::vector<std::string> Bytes::all_tokens() const {
  std::vector<std::string> tokens;
  for (unsigned byte = 0; byte < 256; ++byte) tokens.push_back(byte_token(static_cast<unsigned char>(byte)));
  return tokens;
}

std::vector<std::string> LowerCased::tokens(std::string_view line) const { return inner_->tokens(lower_case(line)); }

void LowerCased::for_each_token(std::string_view line, const TokenVisitor& f) const {
  inner_->for_each_token(lower_case(line), f);
}

std::vector<std::string> LowerCased::tokens_of_text(std::string_view line, const KnownTokens& known) const {
  return inner_->tokens_of_text(lower_case(line), known);
}

void LowerCased::learn(const std::vector<std::string>& lines) {
  std::vector<std::string> lower;
  for (const std::string& line : lines) lower.push_back(lower_case(line));
  inner_->learn(lower);
}

Registry<Tokenizer()>& tokenizers() {
  static Registry<Tokenizer()> table = [] {
    Registry<Tokenizer()> built_in("subwords");
    built_in.add<Words>("words", "words between ASCII white space, or pieces that the text was cut into before");
    built_in.add<Characters>("characters", "Unicode code points");
    built_in.add<Bytes>("bytes", "the bytes of UTF-8, of which none is unknown");
    built_in.add<BytePairs>("bpe", "byte pair encoding, learned from the training split by SentencePiece");
    built_in.add<Unigrams>("unigram", "a unigram language model, learned from the training split by SentencePiece");
    built_in.add<GivenModel>("sentencepiece", "a model of SentencePiece that there is already");
    return built_in;
  }();
  return table;
}

}  // namespace surd
