#include "data/tasks/parallel_text.hpp"

#include "autograd/base/error.hpp"
#include "data/dataset.hpp"
#include "tests/data/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

namespace surd {
namespace {

using test::TemporaryDirectory;

/// A directory with six small files, and the options that name them.
struct Files {
  Files() {
    options.train_source = directory.write("train.en", "a dog\nan old dog\n");
    options.train_target = directory.write("train.de", "ein hund\nein al@@ ter hund\n");
    options.valid_source = directory.write("valid.en", "a cat\n");
    options.valid_target = directory.write("valid.de", "eine katze\n");
    options.test_source = directory.write("test.en", "a bird\n");
    options.test_target = directory.write("test.de", "ein vogel\n");
  }
  Corpus load() const { return ParallelTextTask(options).load(1); }

  TemporaryDirectory directory;
  ParallelTextOptions options;
};

const char* const way_out = "; name a file that can be read, with '/' first or from the folder surd is run in";

TEST_CASE("line n of one file is paired with line n of the other") {
  const Corpus corpus = Files().load();
  const auto& train = corpus.split("train").pairs;
  REQUIRE(train.size() == 2);
  CHECK(train[1].source == "an old dog");
  CHECK(train[1].target == "ein al@@ ter hund");
  CHECK(corpus.split("valid").pairs.front().target == "eine katze");
  CHECK(corpus.split("test").pairs.front().source == "a bird");
}

TEST_CASE("byte order marks, \\r\\n and a missing last newline do no harm") {
  Files files;
  files.directory.write("train.en",
                        "\xef\xbb\xbf"
                        "a dog\r\nan old dog");
  const Corpus corpus = files.load();
  const auto& train = corpus.split("train").pairs;
  REQUIRE(train.size() == 2);
  CHECK(train[0].source == "a dog");
  CHECK(train[1].source == "an old dog");
}

TEST_CASE("gzip files are read") {
  Files files;
  files.options.train_source = files.directory.path("train.en.gz");
  gzFile file = gzopen(files.options.train_source.c_str(), "wb");
  gzputs(file, "a dog\nan old dog\n");
  gzclose(file);
  CHECK(files.load().splits.front().pairs[1].source == "an old dog");

  const std::string packed = TemporaryDirectory::read(files.options.train_source);
  files.directory.write("train.en.gz", packed.substr(0, packed.size() - 5));
  CHECK_THROWS_WITH_AS(
      files.load(),
      ("task.train_source: cannot read '" + files.options.train_source + "': the file is truncated" + way_out).c_str(),
      Error);
}

TEST_CASE("blank and overlong pairs are left out of each split and counted there") {
  Files files;
  files.directory.write("train.en", "a dog\n\nan old dog\n \t\nx\na b c d e\n");
  files.directory.write("train.de", "ein hund\nx\nein al@@ ter hund\ny\n\na\n");
  files.directory.write("valid.en", "a cat\nx\n");
  files.directory.write("valid.de", "eine katze\na b c d e\n");
  files.options.max_length = 4;
  const Corpus corpus = files.load();
  CHECK(corpus.split("train").blank == 3);
  CHECK(corpus.split("valid").blank == 0);
  const Dataset dataset(corpus);
  const auto pairs_and_overlong = [&](std::size_t i) {
    return std::make_pair(dataset.splits[i].pairs.size(), dataset.splits[i].overlong);
  };
  CHECK(pairs_and_overlong(0) == std::make_pair(std::size_t{2}, std::size_t{1}));
  CHECK(pairs_and_overlong(1) == std::make_pair(std::size_t{1}, std::size_t{1}));
  CHECK(pairs_and_overlong(2).second == 0);
  files.options.max_length = 1;
  CHECK_THROWS_WITH_AS(Dataset(files.load()),
                       "task.max_length: leaves no pair of the split train: all 3 are longer; set it higher",
                       OptionError);
}

TEST_CASE("length is counted in tokens") {
  Files files;
  files.options.subwords.select("characters");
  files.options.max_length = 10;  // "eine katze"
  const Dataset dataset(files.load());
  CHECK(dataset.split("train").size() == 1);
  CHECK(dataset.splits[0].overlong == 1);
}

TEST_CASE("files of different length are an error that counts the lines") {
  Files files;
  files.directory.write("train.de", "ein hund\nzwei\ndrei\nvier\n");
  const std::string message = "task.train_target: line n of one file must translate line n of the other, but '" +
                              files.options.train_source + "' has 2 lines and '" + files.options.train_target +
                              "' has 4 lines; name files that belong together";
  CHECK_THROWS_WITH_AS(files.load(), message.c_str(), Error);
  files.directory.write("train.de", "ein hund\n");
  CHECK_THROWS_AS(files.load(), Error);
}

TEST_CASE("invalid UTF-8 is an error at its file, line and byte") {
  Files files;
  files.directory.write("train.de", "ein hund\nein gr\xfcner hund\n");
  CHECK_THROWS_WITH_AS(files.load(),
                       ("task.train_target: " + files.options.train_target +
                        ":2:7: invalid UTF-8 (byte 0xfc); mend that line (iconv turns other encodings into UTF-8), or "
                        "name another file")
                           .c_str(),
                       OptionError);
}

TEST_CASE("missing files and splits without a pair are errors") {
  Files files;
  files.directory.write("valid.en", "\n");
  const std::string message = "task.valid_source: '" + files.options.valid_source + "' and '" +
                              files.options.valid_target +
                              "' must hold a pair; they hold 1 line, blank on one side or both; name other files";
  CHECK_THROWS_WITH_AS(files.load(), message.c_str(), Error);
  files.options.valid_target = files.directory.path("missing");
  CHECK_THROWS_WITH_AS(
      files.load(),
      ("task.valid_target: cannot read '" + files.options.valid_target + "': No such file or directory" + way_out)
          .c_str(),
      Error);
  files.options.test_target = "";
  CHECK_THROWS_WITH_AS(files.load(),
                       "parallel_text: test_target is required: name a file, for example data/test_target.txt", Error);
}

TEST_CASE("the vocabulary follows the options") {
  Files files;
  files.options.min_frequency = 2;
  Dataset dataset(files.load());
  CHECK(dataset.codec.source_vocabulary().size() == 5);  // dog
  CHECK(dataset.codec.target_vocabulary().size() == 6);  // ein, hund
  files.options.shared_vocabulary = true;
  files.options.min_frequency = 1;
  files.options.vocabulary_limit = 9;
  files.options.subwords.set<Words>("words", {"@@"});
  dataset = Dataset(files.load());
  CHECK(dataset.codec.source_vocabulary().size() == 9);
  CHECK(dataset.codec.source_vocabulary() == dataset.codec.target_vocabulary());
  const TextFormat format = ParallelTextTask(files.options).format();
  CHECK(format.subwords.make()->text({"foo@@", "bar"}) == "foobar");
  CHECK(format.shared_vocabulary);
}

}  // namespace
}  // namespace surd
