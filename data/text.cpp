#include "data/text.hpp"

#include "autograd/base/error.hpp"
#include "autograd/base/utf8.hpp"

#include <utf8proc.h>

#include <algorithm>

namespace surd {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

void for_each_word(std::string_view line, const TokenVisitor& f) {
  std::size_t end = 0;
  for (;;) {
    std::size_t begin = end;
    while (begin < line.size() && is_space(line[begin])) ++begin;
    if (begin == line.size()) return;
    for (end = begin + 1; end < line.size() && !is_space(line[end]);) ++end;
    f(line.substr(begin, end - begin));
  }
}

void for_each_character(std::string_view line, const TokenVisitor& f) {
  while (!line.empty()) {
    const std::size_t length = utf8_length(line);
    f(is_space(line.front()) ? space_token : line.substr(0, length));
    line.remove_prefix(length);
  }
}

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::string join_words(const std::vector<std::string>& words, std::string_view subword_marker) {
  std::string line;
  bool glued = true;  // no space before the first word
  for (const std::string& word : words) {
    if (!glued) line += ' ';
    glued = !subword_marker.empty() && ends_with(word, subword_marker);
    line.append(word, 0, word.size() - (glued ? subword_marker.size() : 0));
  }
  return line;
}

std::string join_characters(const std::vector<std::string>& characters) {
  std::string line;
  for (const std::string& character : characters) line += character == space_token ? " " : character;
  return line;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower;
  while (!text.empty()) {
    utf8proc_int32_t point = 0;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                         static_cast<utf8proc_ssize_t>(text.size()), &point);
    if (length > 0) {
      utf8proc_uint8_t bytes[4];
      lower.append(reinterpret_cast<const char*>(bytes),
                   static_cast<std::size_t>(utf8proc_encode_char(utf8proc_tolower(point), bytes)));
    } else {
      lower += text.front();
    }
    text.remove_prefix(static_cast<std::size_t>(std::max<utf8proc_ssize_t>(length, 1)));
  }
  return lower;
}

bool is_blank(std::string_view line) { return std::all_of(line.begin(), line.end(), is_space); }

void expect_utf8(std::string_view line) {
  const auto invalid = find_invalid_utf8(line);
  expect(!invalid, "tokenize", "the line must be valid UTF-8; it is not at byte {}", invalid.value_or(0) + 1);
}

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    text += length > 0 ? bytes.substr(0, length) : std::string_view("\xef\xbf\xbd");
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

void for_each_token(std::string_view line, Tokenization tokenization, const TokenVisitor& f) {
  expect_utf8(line);
  tokenization == Tokenization::words ? for_each_word(line, f) : for_each_character(line, f);
}

std::vector<std::string> tokenize(std::string_view line, Tokenization tokenization) {
  std::vector<std::string> tokens;
  for_each_token(line, tokenization, [&](std::string_view token) { tokens.emplace_back(token); });
  return tokens;
}

std::string detokenize(const std::vector<std::string>& tokens, Tokenization tokenization,
                       std::string_view subword_marker) {
  return tokenization == Tokenization::words ? join_words(tokens, subword_marker) : join_characters(tokens);
}

}  // namespace surd
