#include "data/tasks/text.hpp"

#include "autograd/base/counted.hpp"
#include "data/text.hpp"

namespace surd {
namespace {

Split split_of(const std::string& name, const std::string& path) {
  OptionFile file(name, path);
  Split split{name, {}};
  for (std::string line; file.next(line);) {
    if (is_blank(line))
      ++split.blank;
    else
      split.pairs.push_back({"", line});
  }
  expect_option(!split.pairs.empty(), "task." + name, "'{}' must hold a text; it holds {}, all blank; name another",
                path, counted(file.line_number(), "line"));
  return split;
}

}  // namespace

void TextOptions::fields(Fields& f) {
  file_field(f, "train", train,
             "texts to train on, one a line, of which none sees another; UTF-8, plain or .gz; a relative path begins "
             "at the folder surd is run in, here and below");
  file_field(f, "valid", valid, "texts to validate on; required");
  file_field(f, "test", test, "texts to test on; required");
  TextFilesOptions::fields(f);
}

TextTask::TextTask(Options options) : options_(std::move(options)) { check_options("text", options_); }

TextFormat TextTask::format() const {
  TextFormat format = options_.format();
  format.one_sided = format.shared_vocabulary = true;
  return format;
}

Corpus TextTask::load(std::uint64_t /*seed*/) const {
  Corpus corpus(format());
  corpus.splits.push_back(split_of("train", options_.train));
  corpus.splits.push_back(split_of("valid", options_.valid));
  corpus.splits.push_back(split_of("test", options_.test));
  return corpus;
}

}  // namespace surd
