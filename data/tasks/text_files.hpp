#pragma once

#include "autograd/base/machine_memory.hpp"
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
  /// Throws OptionError where it cannot be read, or `memory` (bytes) is not enough to hold what it becomes.
  OptionFile(const std::string& option, const std::string& path, double memory = machine_memory_bytes());

  /// As of LineReader. Throws OptionError where what was read so far takes more than `memory`.
  bool next(std::string& line);
  std::size_t line_number() const { return lines_.line_number(); }

 private:
  template <class Read>
  auto attempt(const char* way_out, Read read) -> decltype(read());

  std::string option_, path_;
  double memory_, needed_ = 0;
  LineReader lines_;
};

}  // namespace surd
