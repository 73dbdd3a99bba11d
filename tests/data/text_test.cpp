#include "data/text.hpp"

#include "autograd/base/error.hpp"
#include "autograd/base/random.hpp"
#include "autograd/base/utf8.hpp"

#include <doctest/doctest.h>

namespace surd {
namespace {

using Tokens = std::vector<std::string>;

TEST_CASE("words are split at any run of ASCII white space") {
  CHECK(tokenize("  zwei \t junge\r\nweiße  ", Tokenization::words) == Tokens{"zwei", "junge", "weiße"});
  CHECK(tokenize("", Tokenization::words).empty());
  CHECK(tokenize(" \t ", Tokenization::words).empty());
  CHECK(tokenize("10\u00a0km", Tokenization::words) == Tokens{"10\u00a0km"});  // a no-break space does not break
}

TEST_CASE("characters are code points, and white space is U+2581") {
  CHECK(tokenize("3 Mai", Tokenization::characters) == Tokens{"3", "▁", "M", "a", "i"});
  CHECK(tokenize("aß€😀", Tokenization::characters) == Tokens{"a", "ß", "€", "😀"});
  CHECK(tokenize("a\tb", Tokenization::characters) == Tokens{"a", "▁", "b"});
  CHECK(tokenize("", Tokenization::characters).empty());
}

TEST_CASE("tokens become the line they came from") {
  for (const char* line : {"", "a", "ein Wort", "grüße , 世界 😀", "the 3rd of May , 1994"}) {
    CHECK(detokenize(tokenize(line, Tokenization::words), Tokenization::words) == line);
    CHECK(detokenize(tokenize(line, Tokenization::characters), Tokenization::characters) == line);
  }
  CHECK(detokenize({"a", "▁", "▁", "b"}, Tokenization::characters) == "a  b");
}

TEST_CASE("text in lower case is that of Unicode, code point by code point, and bytes that are no text stay") {
  CHECK(lower_case("") == "");
  CHECK(lower_case("A dog, 12 Äpfel; STRASSE ß ΣΑΣ Ж") == "a dog, 12 äpfel; strasse ß σασ ж");
  CHECK(lower_case("\xff"
                   "A\xe2\x82") ==
        "\xff"
        "a\xe2\x82");
}

TEST_CASE("word pieces are glued at the marker") {
  CHECK(detokenize({"foo@@", "bar"}, Tokenization::words, "@@") == "foobar");
  CHECK(detokenize({"ein", "an@@", "trie@@", "b@@", "s@@", "rad@@", "system", "."}, Tokenization::words, "@@") ==
        "ein antriebsradsystem .");
  CHECK(detokenize({"cut", "sh@@"}, Tokenization::words, "@@") == "cut sh");
  CHECK(detokenize({"a", "@@", "b"}, Tokenization::words, "@@") == "a b");
  CHECK(detokenize({"foo@@", "bar"}, Tokenization::words) == "foo@@ bar");
  CHECK(detokenize({"@", "a@@b"}, Tokenization::words, "@@") == "@ a@@b");
}

TEST_CASE("well-formed UTF-8 is accepted up to its limits") {
  for (const char* text : {"", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    CAPTURE(text);
    CHECK_FALSE(find_invalid_utf8(text).has_value());
  }
  CHECK_FALSE(find_invalid_utf8(std::string("a\0b", 3)).has_value());
}

TEST_CASE("ill-formed UTF-8 is found at the byte where its sequence starts") {
  for (const char* text : {"\x80",
                           "\xbf",
                           "\xc0\x80",
                           "\xc1\xbf",
                           "\xf5\x80\x80\x80",
                           "\xff",
                           "\xfe",  // lead bytes
                           "\xe0\x80\x80",
                           "\xe0\x9f\xbf",
                           "\xf0\x80\x80\x80",
                           "\xf0\x8f\xbf\xbf",  // overlong
                           "\xed\xa0\x80",
                           "\xed\xbf\xbf",      // surrogates
                           "\xf4\x90\x80\x80",  // > U+10FFFF
                           "\xc3",
                           "\xe2\x82",
                           "\xf0\x9f\x98",  // cut short
                           "\xc3(",
                           "\xe2(\xa1",
                           "\xe2\x82(",
                           "\xf0\x9f\x98("}) {
    CAPTURE(text);
    CHECK(find_invalid_utf8(text) == 0);
    CHECK(find_invalid_utf8(std::string("aß€😀") + text) == 10);
    for (std::size_t length = 0; length <= 17; ++length)
      CHECK(find_invalid_utf8(std::string(length, 'a') + text + " ok") == length);
  }
  CHECK_THROWS_WITH_AS(tokenize("caf\xe9", Tokenization::words),
                       "tokenize: the line must be valid UTF-8; it is not at byte 4", Error);
  CHECK_THROWS_AS(tokenize("\xe9", Tokenization::characters), Error);
}

/// Encodes by the definition of UTF-8, to compare with.
std::string encode_utf8(std::uint32_t code) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
  const auto tail = [&](int shift) { return byte(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | (code >> 6)), tail(0)};
  if (code < 0x10000) return {byte(0xe0 | (code >> 12)), tail(6), tail(0)};
  return {byte(0xf0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

TEST_CASE("every code point is one character, and every surrogate none") {
  std::size_t wrong = 0;
  for (std::uint32_t code = 1; code < 0x110000; code += code < 0x11000 ? 1 : 97) {
    const std::string text = encode_utf8(code);
    if (code >= 0xd800 && code < 0xe000) {
      wrong += find_invalid_utf8(text) == 0 ? 0 : 1;
    } else if (!is_blank(text)) {
      wrong += tokenize(text + text, Tokenization::characters) == Tokens{text, text} ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("random bytes are either refused or come back") {
  random::Sequence draw(random::Stream(1, "test", "utf8"));
  const std::vector<std::string> pieces = {"a", " ", "é", "\xc3", "\xa9", "€", "\xe2", "\x82", "😀", "\xf0", "\x9f"};
  std::size_t accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t n = draw.integer(8); n > 0; --n) text += draw.choose(pieces);
    const auto invalid = find_invalid_utf8(text);
    CHECK_FALSE(find_invalid_utf8(text.substr(0, invalid.value_or(text.size()))).has_value());
    if (invalid) continue;
    ++accepted;
    CHECK(detokenize(tokenize(text, Tokenization::characters), Tokenization::characters) == text);
  }
  CHECK(accepted > 1000);
  CHECK(accepted < 19000);
}

TEST_CASE("blank lines hold nothing but white space") {
  CHECK(is_blank(""));
  CHECK(is_blank(" \t\r\n\v\f"));
  CHECK_FALSE(is_blank(" a "));
  CHECK_FALSE(is_blank("▁"));
}

}  // namespace
}  // namespace surd
