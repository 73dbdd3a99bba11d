#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// n-grams of code points, or of words that stand for one code point each.
namespace surd {

/// Code points of a text in UTF-8.
std::u32string code_points(std::string_view text);

/// White_Space of Unicode, and the separators U+001C to U+001F, which other programs split lines at.
bool is_white_space(char32_t c);

/// The parts between white space.
std::vector<std::u32string> split_at_white_space(std::u32string_view text);

struct NgramCounts {
  std::size_t translation = 0;
  std::size_t reference = 0;
  std::size_t matching = 0;  ///< each as often as it occurs on both sides
};
NgramCounts count_ngrams(std::u32string_view translation, std::u32string_view reference, std::size_t n);

/// Both sides with a number for each word, the same for the same word.
struct NumberedWords {
  NumberedWords(const std::vector<std::u32string>& translation_words,
                const std::vector<std::u32string>& reference_words);

  std::u32string translation, reference;
};

}  // namespace surd
