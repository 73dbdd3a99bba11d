#pragma once

#include "data/lines.hpp"
#include "data/task.hpp"

#include <optional>
#include <string>
#include <utility>

/// What tasks that read text files have in common.
namespace surd {

/// How the lines of the files become tokens.
struct TextFilesOptions {
  TokenizerChoice subwords = {tokenizers(), "words"};
  bool lowercase = false;
  std::size_t max_length = 100;
  std::size_t min_frequency = 1;
  std::optional<std::size_t> vocabulary_limit;

  void fields(Fields& f);
  TextFormat format() const;
};

/// Lists the option of a file, which has to be named.
void file_field(Fields& f, const char* name, std::string& path, const char* help);

/// The file that an option of the task names; what is wrong with it is an error of that option.
class OptionFile {
 public:
  /// Throws OptionError where it cannot be read, or this machine has not the memory to hold what it becomes.
  OptionFile(const std::string& option, const std::string& path);

  /// As of LineReader.
  bool next(std::string& line);
  std::size_t line_number() const { return lines_.line_number(); }

 private:
  template <class Read>
  auto attempt(const char* way_out, Read read) -> decltype(read());

  std::string option_;
  LineReader lines_;
};

}  // namespace surd
