#include "train/storage/files.hpp"

#include "autograd/base/error.hpp"
#include "tests/data/temporary_directory.hpp"
#include "tests/train/storage/failing_calls.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

namespace surd {
namespace {

using test::TemporaryDirectory;

TEST_CASE("a path ends without a slash") {
  for (const char* path : {"a/b", "a/b/", "a/b//", "a/./b/.", "a/c/../b/"}) CHECK(without_end_slash(path) == "a/b");
  CHECK(without_end_slash("/") == "/");
  CHECK(without_end_slash("./") == ".");
}

TEST_CASE("a folder that finds its name taken stays, whatever the file system calls that") {
  class Refusing : public SystemCalls {
   public:
    int rename(const char*, const char*) override { return errno = code, -1; }
    int code = 0;
  };
  const TemporaryDirectory directory;
  const std::string own = directory.path("own"), taken = directory.path("taken"), empty = directory.path("empty");
  for (const std::string& folder : {own, taken, empty}) make_folders(folder);
  write_file_atomically(taken + "/file", "first");
  Refusing calls;
  const ReplacedSystemCalls replaced(calls);
  for (const int code : {EEXIST, ENOTEMPTY}) {
    calls.code = code;
    CHECK_FALSE(rename_folder(own, taken));
    CHECK_FALSE(rename_folder(own, empty));  // it only looks so where looks are stale
  }
  for (const int code : {EPERM, EIO}) {
    calls.code = code;
    CHECK_FALSE(rename_folder(own, taken));
    CHECK_THROWS_AS(rename_folder(own, empty), Error);
  }
  CHECK(path_exists(own));
}

TEST_CASE(
    "of several files none has its name before all are synced, and where one cannot be, nothing is left of them") {
  const TemporaryDirectory directory;
  make_folders(directory.path("in"));
  const std::string a = directory.path("a"), b = directory.path("in/b");
  const std::map<std::string, std::string_view> files = {{a, "first"}, {b, "second"}};
  const std::pair<test::Call, std::string> calls[] = {
      {test::Call::open, "open"}, {test::Call::write, "write"}, {test::Call::sync, "sync"}};
  for (const auto& [call, name] : calls) {
    // The file is named, and not the temporary one that stands in for it.
    const std::string message = ": cannot " + name + ": Input/output error";
    for (std::size_t at = 0; at < 2; ++at) {
      test::FailingCalls failing(call, at, test::Failure::input_output);
      const ReplacedSystemCalls replaced(failing);
      CHECK_THROWS_WITH_AS(write_files_atomically(files), ((at == 0 ? a : b) + message).c_str(), Error);
      CHECK(names_in(directory.path()) == std::vector<std::string>{"in"});
      CHECK(names_in(directory.path("in")).empty());
    }
    test::FailingCalls failing(call, 0, test::Failure::input_output);
    const ReplacedSystemCalls replaced(failing);
    CHECK_THROWS_WITH_AS(create_whole_file(a, "first"), (a + message).c_str(), Error);
    CHECK(names_in(directory.path()) == std::vector<std::string>{"in"});
  }
  write_files_atomically(files);
  CHECK(read_file(a) == "first");
  CHECK(read_file(b) == "second");
}

TEST_CASE("a folder appears with all that is written to it, or not at all") {
  const TemporaryDirectory directory;
  const std::string folder = directory.path("in/model");
  const auto write = [](const std::string& text) {
    return [text](const std::string& unfinished) { write_file_atomically(unfinished + "/file", text); };
  };
  CHECK(make_whole_folder(folder + "/", [&](const std::string& unfinished) {
    CHECK_FALSE(path_exists(folder));
    write("first")(unfinished);
  }));
  CHECK(read_file(folder + "/file") == "first");

  CHECK_FALSE(make_whole_folder(folder, write("second")));
  CHECK(read_file(folder + "/file") == "first");

  CHECK_THROWS_AS(make_whole_folder(directory.path("in/other"),
                                    [&](const std::string& unfinished) {
                                      write("third")(unfinished);
                                      throw std::runtime_error("no more");
                                    }),
                  std::runtime_error);
  CHECK(names_in(directory.path("in")) == std::vector<std::string>{"model"});
}

}  // namespace
}  // namespace surd
