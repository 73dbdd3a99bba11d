#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// How plain text becomes tokens; tokenizer.hpp has all ways.
enum class Tokenization {
  words,       ///< split at ASCII white space
  characters,  ///< one token a Unicode code point
};

/// The token that stands for a space between characters: U+2581, "▁", as SentencePiece writes it.
inline constexpr std::string_view space_token = "\xe2\x96\x81";

/// Whether a line holds nothing but ASCII white space (space, tabs, line ends, form feed).
bool is_blank(std::string_view line);

/// U+FEFF in UTF-8, which some editors write at the start of a file.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// Throws Error, naming the byte, where a line is not valid UTF-8.
void expect_utf8(std::string_view line);

/// The text with U+FFFD for each byte that is part of no UTF-8 sequence.
std::string valid_utf8(std::string_view bytes);

/// The text in lower case, code point by code point (Unicode's simple mappings); what is no UTF-8 stays as it is.
std::string lower_case(std::string_view text);

/// The tokens of one line; none is empty and none holds ASCII white space. Words are taken as they stand; among
/// characters each white space is space_token. Throws Error where the line is not valid UTF-8.
std::vector<std::string> tokenize(std::string_view line, Tokenization tokenization);

/// Is called with a token, which lasts as long as the call.
using TokenVisitor = std::function<void(std::string_view)>;
/// The same tokens one by one.
void for_each_token(std::string_view line, Tokenization tokenization, const TokenVisitor& f);

/// The line that tokens stand for: words joined by one space, characters joined by nothing, with space_token written as
/// a space. A word that ends in `subword_marker` is glued to the next one, as BPE pieces are: with "@@", "foo@@ bar" is
/// "foobar"; an empty marker glues nothing. Inverse of tokenize() up to white space, save that a U+2581 in the text
/// comes back as a space.
std::string detokenize(const std::vector<std::string>& tokens, Tokenization tokenization,
                       std::string_view subword_marker = "");

}  // namespace surd
