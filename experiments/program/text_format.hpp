#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surd {

/// The width in columns that a terminal is taken to have; lines that are printed for reading keep to it.
inline constexpr std::size_t screen_width = 80;

/// "label       item, item," and, where that is wider than the screen, the items that follow on lines beneath the
/// first. No item is broken.
std::string labelled(std::string_view label, const std::vector<std::string>& items, std::string_view separator);

/// `text` with every `what` in it replaced.
std::string replace_all(std::string text, std::string_view what, std::string_view by);

/// The text with a backslash before what Markdown would read as the end of a table's cell, or as HTML.
std::string markdown_text(std::string_view text);

/// The text with every byte but letters, digits and those `allowed` escaped as in a URL: %2F.
std::string percent_encoded(std::string_view text, std::string_view allowed);

/// A word as a POSIX shell reads it back: as it is where nothing in it means something to a shell, else in quotes.
std::string shell_word(const std::string& word);

/// 1234567 -> "1,234,567".
std::string with_commas(std::uint64_t number);

/// 75 -> "1:15", 3700 -> "1:01:40".
std::string clock_time(double seconds);

/// How often something happens in a second; where that is not once in ten seconds, in a minute or an hour: "4.2/min".
std::string rate_text(double per_second);

/// A moment as ISO 8601 writes it, in the time zone of this machine: "2026-11-20T14:05:09+0100".
std::string iso_time(std::time_t moment);

/// A row of a CSV file (RFC 4180) with its line end: cells that need quotes get them.
std::string csv_row(const std::vector<std::string>& cells);

/// Columns that a text takes on a terminal, if each of its characters takes one.
std::size_t columns_of(std::string_view text);

/// A table as lines, with two spaces between its columns. Every row has as many cells as the first; none: no lines.
std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows);

/// `words` in lines of at most `width` columns where it has spaces to break at, `first` before the first line and
/// `next` before the others.
std::string wrapped(std::string_view words, std::string_view first, std::string_view next, std::size_t width = 100);

/// Throws Error where what was printed so far cannot be written to standard output.
void flush_stdout();

/// Prints to stderr and ignores errors: a message that nobody can read is no reason to fail.
template <class... Args>
void to_stderr(fmt::format_string<Args...> text, Args&&... args) {
  std::fputs(fmt::format(text, std::forward<Args>(args)...).c_str(), stderr);
}

}  // namespace surd
