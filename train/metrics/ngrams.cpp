#include "train/metrics/ngrams.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <unordered_map>

namespace surd {

std::u32string code_points(std::string_view text) {
  std::u32string points;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (std::size_t i = 0; i < text.size();) {
    utf8proc_int32_t point = 0;
    const auto length = utf8proc_iterate(bytes + i, static_cast<utf8proc_ssize_t>(text.size() - i), &point);
    points += length > 0 ? static_cast<char32_t>(point) : U'\ufffd';
    i += static_cast<std::size_t>(std::max<utf8proc_ssize_t>(length, 1));
  }
  return points;
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

std::vector<std::u32string> split_at_white_space(std::u32string_view text) {
  std::vector<std::u32string> words;
  for (auto end = text.begin();;) {
    const auto begin = std::find_if_not(end, text.end(), is_white_space);
    if (begin == text.end()) return words;
    end = std::find_if(begin, text.end(), is_white_space);
    words.emplace_back(begin, end);
  }
}

NgramCounts count_ngrams(std::u32string_view translation, std::u32string_view reference, std::size_t n) {
  const auto count = [n](std::u32string_view text) { return text.size() < n ? 0 : text.size() - n + 1; };
  NgramCounts counts{count(translation), count(reference)};
  std::unordered_map<std::u32string_view, std::size_t> left;  // of the reference
  for (std::size_t i = 0; i < counts.reference; ++i) ++left[reference.substr(i, n)];
  for (std::size_t i = 0; i < counts.translation; ++i) {
    const auto found = left.find(translation.substr(i, n));
    if (found == left.end() || found->second == 0) continue;
    --found->second;
    ++counts.matching;
  }
  return counts;
}

NumberedWords::NumberedWords(const std::vector<std::u32string>& translation_words,
                             const std::vector<std::u32string>& reference_words) {
  std::unordered_map<std::u32string_view, char32_t> numbers;
  const auto number = [&](const std::vector<std::u32string>& words) {
    std::u32string text;
    for (const std::u32string& word : words)
      text += numbers.emplace(word, static_cast<char32_t>(numbers.size())).first->second;
    return text;
  };
  translation = number(translation_words);
  reference = number(reference_words);
}

}  // namespace surd
