#include "data/tasks/parallel_text.hpp"

#include "autograd/base/counted.hpp"
#include "data/text.hpp"

#include <algorithm>

namespace surd {

void ParallelTextOptions::fields(Fields& f) {
  file_field(f, "train_source", train_source,
             "sentences to train on, one a line; UTF-8, plain or .gz; a relative path begins at the folder surd is run "
             "in, here and below");
  file_field(f, "train_target", train_target, "their translations, line by line; required");
  file_field(f, "valid_source", valid_source, "sentences to validate on; required");
  file_field(f, "valid_target", valid_target, "their translations; required");
  file_field(f, "test_source", test_source, "sentences to test on; required");
  file_field(f, "test_target", test_target, "their translations; required");
  TextFilesOptions::fields(f);
  f("shared_vocabulary", shared_vocabulary, "one vocabulary for both sides, so that all embeddings can be tied");
}

ParallelTextTask::ParallelTextTask(Options options) : options_(std::move(options)) {
  check_options("parallel_text", options_);
}

TextFormat ParallelTextTask::format() const {
  TextFormat format = options_.format();
  format.shared_vocabulary = options_.shared_vocabulary;
  return format;
}

Split ParallelTextTask::read_split(std::string name, const std::string& source_path,
                                   const std::string& target_path) const {
  OptionFile sources(name + "_source", source_path), targets(name + "_target", target_path);
  Split split{std::move(name), {}};
  TextPair pair;
  for (;;) {
    const bool has_source = sources.next(pair.source);
    const bool has_target = targets.next(pair.target);
    if (!has_source || !has_target) break;
    if (is_blank(pair.source) || is_blank(pair.target))
      ++split.blank;
    else
      split.pairs.push_back(pair);
  }
  while (sources.next(pair.source)) continue;
  while (targets.next(pair.target)) continue;
  expect_option(sources.line_number() == targets.line_number(), "task." + split.name + "_target",
                "line n of one file must translate line n of the other, but '{}' has {} and '{}' has {}; name "
                "files that belong together",
                source_path, counted(sources.line_number(), "line"), target_path,
                counted(targets.line_number(), "line"));
  expect_option(!split.pairs.empty(), "task." + split.name + "_source",
                "'{}' and '{}' must hold a pair; they hold {}, blank on one side or both; name other files",
                source_path, target_path, counted(sources.line_number(), "line"));
  return split;
}

Corpus ParallelTextTask::load(std::uint64_t /*seed*/) const {
  Corpus corpus(format());
  corpus.splits.push_back(read_split("train", options_.train_source, options_.train_target));
  corpus.splits.push_back(read_split("valid", options_.valid_source, options_.valid_target));
  corpus.splits.push_back(read_split("test", options_.test_source, options_.test_target));
  return corpus;
}

}  // namespace surd
