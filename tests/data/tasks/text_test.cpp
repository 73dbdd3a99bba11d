#include "data/tasks/text.hpp"

#include "autograd/base/error.hpp"
#include "autograd/base/machine_memory.hpp"
#include "data/batch.hpp"
#include "data/dataset.hpp"
#include "tests/data/temporary_directory.hpp"
#include "tests/text.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace surd {
namespace {

using Ids = std::vector<TokenId>;
using test::contains;

/// A directory with three small files, and the options that name them.
struct Files {
  Files() {
    options.train = directory.write("train.txt", "a dog\nan old dog runs\n");
    options.valid = directory.write("valid.txt", "a cat\n");
    options.test = directory.write("test.txt", "a bird\n");
  }
  Corpus load() const { return TextTask(options).load(1); }

  test::TemporaryDirectory directory;
  TextOptions options;
};

TEST_CASE("a line is a text, without a source") {
  const Corpus corpus = Files().load();
  CHECK(corpus.one_sided);
  const auto& train = corpus.split("train").pairs;
  REQUIRE(train.size() == 2);
  CHECK(train[1].source == "");
  CHECK(train[1].target == "an old dog runs");
  CHECK(corpus.split("valid").pairs.front().target == "a cat");
  CHECK(corpus.split("test").pairs.front().target == "a bird");
}

TEST_CASE("texts as ids have no source, not even its end; their batches read bos and the tokens") {
  const Dataset dataset(Files().load());
  CHECK(dataset.codec.one_sided());
  CHECK(dataset.codec.source_vocabulary() == dataset.codec.target_vocabulary());
  const auto& train = dataset.split("train");
  const auto id = [&](const char* token) { return dataset.codec.target_vocabulary().id(token); };
  CHECK(train[0].source.empty());
  CHECK(train[0].target == Ids{id("a"), id("dog")});
  const Batch batch = make_batch(train, {0, 1});
  CHECK(batch.source_length == 0);
  CHECK(batch.source.empty());
  CHECK(batch.source_lengths == std::vector<std::size_t>{0, 0});
  CHECK(batch.target_input == Ids{1, id("a"), id("dog"), 0, 0, 1, id("an"), id("old"), id("dog"), id("runs")});
  CHECK(batch.target_output == Ids{id("a"), id("dog"), 2, 0, 0, id("an"), id("old"), id("dog"), id("runs"), 2});
  // "cat" and "bird" are not in the vocabulary of the training split.
  const UnknownShare valid = unknown_share(dataset.split("valid"));
  CHECK(valid.source == 0);
  CHECK(valid.target == doctest::Approx(0.5));
}

TEST_CASE("characters and bytes of texts need no source either") {
  for (const std::string subwords : {"characters", "bytes"}) {
    Files files;
    files.options.subwords.select(subwords);
    const Dataset dataset(files.load());
    CHECK(dataset.split("train")[0].target.size() == 5);
    CHECK(dataset.codec.decode_target(dataset.split("train")[1].target) == "an old dog runs");
  }
}

TEST_CASE("blank texts and overlong ones are left out and counted") {
  Files files;
  files.directory.write("train.txt", "\na dog\n \t\nthis text is longer than the others\nan old dog\n");
  files.options.max_length = 3;
  const Corpus corpus = files.load();
  CHECK(corpus.split("train").blank == 2);
  const Dataset dataset(corpus);
  CHECK(dataset.split("train").size() == 2);
  CHECK(dataset.splits[0].overlong == 1);
}

TEST_CASE("files that hold no text are errors that name their option") {
  Files files;
  files.directory.write("valid.txt", "\n\n");
  CHECK_THROWS_WITH_AS(
      files.load(),
      ("task.valid: '" + files.options.valid + "' must hold a text; it holds 2 lines, all blank; name another").c_str(),
      OptionError);
  files.directory.write("valid.txt", "a \xff\n");
  CHECK(
      contains(test::message_of([&] { files.load(); }), "task.valid: " + files.options.valid + ":1:3: invalid UTF-8"));
  files.options.valid = files.directory.path("absent");
  CHECK(contains(test::message_of([&] { files.load(); }), "task.valid: cannot read '" + files.options.valid + "'"));
  files.options.test = "";
  CHECK(contains(test::message_of([&] { TextTask{files.options}; }), "text: test is required: name a file"));
}

TEST_CASE("a file that memory cannot hold is refused before it is read") {
  const Files files;
  // Without a block on the disk.
  std::filesystem::resize_file(files.options.train, static_cast<std::uintmax_t>(machine_memory_bytes() / 4));
  const std::string message = test::message_of([&] { files.load(); });
  CHECK(contains(message, "task.train: '" + files.options.train + "' has "));
  CHECK(contains(message, "all of it is held in memory"));
  CHECK(contains(message, "name a smaller file"));
  CHECK_FALSE(contains(message, "that can be read"));
}

TEST_CASE("lines that memory cannot hold are refused as they are read") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.write("lines", "a\nb\nc\nd\n");
  OptionFile enough("train", path, 1000), short_of_it("train", path, 500);
  std::string line;
  std::size_t read = 0;
  while (enough.next(line)) ++read;
  CHECK(read == 4);
  CHECK(short_of_it.next(line));
  CHECK(short_of_it.next(line));
  CHECK(contains(test::message_of([&] { short_of_it.next(line); }), "takes more memory than the 0.0 GiB"));
}

}  // namespace
}  // namespace surd
