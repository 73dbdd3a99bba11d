#include "experiments/config/config_error.hpp"

#include "autograd/base/fields.hpp"
#include "autograd/base/utf8.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace surd {
namespace {

constexpr std::size_t shown_problems = 50;

std::vector<Problem> sorted(std::vector<Problem> problems) {
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.origin.layer, a.origin.line, a.origin.column) <
           std::tie(b.origin.layer, b.origin.line, b.origin.column);
  });
  return problems;
}

std::string lines(const std::vector<Problem>& problems) {
  std::string text;
  for (std::size_t i = 0; i < std::min(problems.size(), shown_problems); ++i)
    text += (i == 0 ? "" : "\n") + problems[i].text();
  if (problems.size() > shown_problems) text += fmt::format("\nand {} more", problems.size() - shown_problems);
  return text;
}

}  // namespace

std::string Problem::text() const {
  std::string where = origin.source;
  if (origin.line > 0) where += fmt::format(":{}:{}", origin.line, origin.column);
  // "--set model.heads=x: model.heads: ..." would name the key twice.
  const bool named = origin.source.rfind(fmt::format("--set {}=", path), 0) == 0;
  return path.empty() || named ? fmt::format("{}: {}", where, message)
                               : fmt::format("{}: {}: {}", where, path, message);
}

ConfigError::ConfigError(std::vector<Problem> problems)
    : Error(lines(sorted(problems))), problems_(sorted(std::move(problems))) {}

std::string not_among(std::string_view name, const std::vector<std::string>& names) {
  std::string guess = did_you_mean(name, names);
  if (!guess.empty()) return guess;
  return names.empty() ? "; there are none" : fmt::format("; there are {}", fmt::join(names, ", "));
}

namespace {

/// Whether a character makes a terminal write what follows from right to left, or back (Unicode, UAX 9).
bool turns_direction(std::string_view character) {
  if (character.size() != 3 || character[0] != '\xE2') return false;
  const auto middle = static_cast<unsigned char>(character[1]), last = static_cast<unsigned char>(character[2]);
  return (middle == 0x80 && (last == 0x8E || last == 0x8F || (last >= 0xAA && last <= 0xAE))) ||
         (middle == 0x81 && last >= 0xA6 && last <= 0xA9);
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string result;
  for (std::size_t length = 1; !text.empty(); text.remove_prefix(length)) {
    if (result.size() >= longest) return result + "...";
    length = utf8_length(text);
    const bool control = static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7F ||
                         (length == 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0) ||
                         turns_direction(text.substr(0, length));
    if (text[0] == '\n')
      result += "\\n";
    else if (length == 0 || control)
      result += '?';
    else
      result += text.substr(0, length);
    length = std::max<std::size_t>(length, 1);
  }
  return result;
}

}  // namespace surd
