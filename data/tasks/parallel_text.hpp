#pragma once

#include "data/tasks/text_files.hpp"

namespace surd {

struct ParallelTextOptions : TextFilesOptions {
  std::string train_source, train_target;
  std::string valid_source, valid_target;
  std::string test_source, test_target;
  bool shared_vocabulary = false;

  void fields(Fields& f);
};

/// Reads two files a split with one UTF-8 sentence a line, plain or gzip: line n of one is the translation of line n of
/// the other. Blank pairs are left out of every split and counted there; overlong ones are left out of a Dataset.
///
/// load() throws Error when a file cannot be read, holds invalid UTF-8 (at file:line:byte), when the two files of a
/// split have different numbers of lines, or when no pair is left.
class ParallelTextTask : public Task {
 public:
  using Options = ParallelTextOptions;
  explicit ParallelTextTask(Options options);

  TextFormat format() const override;
  Corpus load(std::uint64_t seed) const override;
  bool takes_seed() const override { return false; }

 private:
  Split read_split(std::string name, const std::string& source_path, const std::string& target_path) const;

  Options options_;
};

}  // namespace surd
