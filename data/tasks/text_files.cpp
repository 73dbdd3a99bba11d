#include "data/tasks/text_files.hpp"

#include <filesystem>

namespace surd {
namespace {

constexpr double bytes_per_byte = 8, bytes_per_line = 200, gib = 1 << 30;

/// The path, once it is known that what the file holds has place in memory, as far as its size tells: its text and, of
/// each character where these are the tokens, an id. What lines take beside that, and what a packed file holds, shows
/// as it is read.
const std::string& fitting(const std::string& option, const std::string& path, double there) {
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  if (unknown) return path;  // a pipe, or nothing that can be read
  const double needed = bytes_per_byte * static_cast<double>(size);
  expect_option(needed <= there, option,
                "'{}' has {:.1f} GiB, and all of it is held in memory, as some {:.1f} GiB; this machine has {:.1f}: "
                "name a smaller file",
                path, static_cast<double>(size) / gib, needed / gib, there / gib);
  return path;
}

}  // namespace

void TextFilesOptions::fields(Fields& f) {
  f.choice("subwords", "kind", subwords, "how a line becomes tokens");
  f("lowercase", lowercase,
    "put all text into lower case first, that which the run is used on later as well, and references of BLEU and chrF");
  f("max_length", max_length, "lines with more tokens, and pairs that have one, are left out and counted",
    between(1, 1e5), Unit{"tokens"});
  f("min_frequency", min_frequency,
    "a token must occur this often in the training split to get an entry; others are unknown, and never count as right",
    at_least(1));
  f("vocabulary_limit", vocabulary_limit,
    "most entries of a vocabulary, the four special tokens included; rarer tokens are unknown",
    between(Vocabulary::specials + 1, Vocabulary::largest_size));
  f.rule((!vocabulary_limit && min_frequency == 1) || !subwords.make()->closed(),
         vocabulary_limit ? "vocabulary_limit" : "min_frequency",
         "is for words and characters: every piece or byte has an entry; remove it, or set another subwords.kind");
}

TextFormat TextFilesOptions::format() const {
  TextFormat format;
  format.subwords = subwords;
  format.lowercase = lowercase;
  format.max_length = max_length;
  format.vocabulary.min_frequency = min_frequency;
  format.vocabulary.size_limit = vocabulary_limit;
  format.open_vocabulary = true;
  return format;
}

void file_field(Fields& f, const char* name, std::string& path, const char* help) {
  f(name, path, help);
  f.rule(!path.empty(), name, fmt::format("is required: name a file, for example data/{}.txt", name));
}

template <class Read>
auto OptionFile::attempt(const char* way_out, Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const Error& error) {
    throw OptionError(option_, fmt::format("{}; {}", error.what(), way_out));
  }
}

OptionFile::OptionFile(const std::string& option, const std::string& path, double memory)
    : option_("task." + option),
      path_(path),
      memory_(memory),
      lines_(attempt("name a file that can be read, with '/' first or from the folder surd is run in",
                     [&, &fits = fitting(option_, path, memory)] { return LineReader(fits); })) {}

bool OptionFile::next(std::string& line) {
  const bool more = attempt("mend that line (iconv turns other encodings into UTF-8), or name another file",
                            [&] { return lines_.next(line); });
  needed_ += bytes_per_byte * static_cast<double>(line.size()) + bytes_per_line;
  expect_option(!more || needed_ <= memory_, option_,
                "'{}' takes more memory than the {:.1f} GiB of this machine, by line {}; name a smaller file", path_,
                memory_ / gib, lines_.line_number());
  return more;
}

}  // namespace surd
