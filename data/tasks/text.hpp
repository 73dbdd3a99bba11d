#pragma once

#include "data/tasks/text_files.hpp"

namespace surd {

struct TextOptions : TextFilesOptions {
  TextOptions() { max_length = 256; }
  std::string train, valid, test;

  void fields(Fields& f);
};

/// Reads a file a split with one UTF-8 text a line, plain or gzip: what a language model learns. Blank lines are left
/// out of every split and counted there; overlong ones are left out of a Dataset.
///
/// load() throws Error when a file cannot be read, holds invalid UTF-8 (at file:line:byte) or no text.
class TextTask : public Task {
 public:
  using Options = TextOptions;
  explicit TextTask(Options options);

  TextFormat format() const override;
  Corpus load(std::uint64_t seed) const override;
  bool takes_seed() const override { return false; }

 private:
  Options options_;
};

}  // namespace surd
