#include "experiments/program/text_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace surd {

std::string labelled(std::string_view label, const std::vector<std::string>& items, std::string_view separator) {
  constexpr std::size_t indent = 12;
  std::string text = fmt::format("{:<{}}", label, indent);
  std::size_t column = text.size();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? std::string(separator) : "");
    if (column > indent && column + 1 + item.size() > screen_width) {
      while (text.back() == ' ') text.pop_back();
      text += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) text += ' ';
    column += item.size() + (column > indent ? 1 : 0);
    text += item;
  }
  return text;
}

std::string replace_all(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::string markdown_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '|' || c == '<') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string percent_encoded(std::string_view text, std::string_view allowed) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || allowed.find(c) != std::string_view::npos)
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

std::string shell_word(const std::string& word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./=:,@%+").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  return "'" + replace_all(word, "'", "'\\''") + "'";
}

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string clock_time(double seconds) {
  const auto total = static_cast<std::uint64_t>(std::llround(std::max(0.0, seconds)));
  if (total >= 3600) return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

std::string rate_text(double per_second) {
  constexpr double least = 0.1, minute = 60, hour = 3600;
  if (per_second >= least || per_second <= 0) return fmt::format("{:.1f}/s", per_second);
  if (per_second * minute >= least) return fmt::format("{:.1f}/min", per_second * minute);
  return fmt::format("{:.1f}/h", per_second * hour);
}

std::string iso_time(std::time_t moment) {
  std::tm local{};
  ::localtime_r(&moment, &local);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &local);
  return {text, length};
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool plain = cells[i].find_first_of(",\"\r\n") == std::string::npos;
    row += (i == 0 ? "" : ",") + (plain ? cells[i] : '"' + replace_all(cells[i], "\"", "\"\"") + '"');
  }
  return row + "\n";
}

std::size_t columns_of(std::string_view text) {  // code points: every other byte of UTF-8 begins with 10
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return {};
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] - columns_of(row[i]) + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line);
  }
  return lines;
}

std::string wrapped(std::string_view words, std::string_view first, std::string_view next, std::size_t width) {
  std::string text, line(first);
  bool begun = false;  // whether the line has a word
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (begun && line.size() + 1 + end - at > width) {
      text += line + '\n';
      line = next;
      begun = false;
    }
    line += (begun ? " " : "");
    line += words.substr(at, end - at);
    begun = true;
    at = end + 1;
  }
  return text + line + '\n';
}

void flush_stdout() {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  expect(written, "standard output", "cannot be written{}",
         errno == 0 ? "" : fmt::format(": {}", std::strerror(errno)));
}

}  // namespace surd
