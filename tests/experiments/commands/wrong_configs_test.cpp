#include "../../data/temporary_directory.hpp"
#include "../program.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>

using namespace surd;
using namespace surd::test;

namespace {

const std::string page = SURD_SOURCE_DIR "/docs/wrong-configs.md";

/// Replays a page: each section in a folder of its own, in which a yaml block is written to the file that its first
/// line names, and the commands of a console block are run.
class Replay {
 public:
  /// The page with what the commands print now.
  std::string operator()(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("## ", 0) == 0) folder_ = std::make_unique<TemporaryDirectory>();
      result_ += line + '\n';
      if (line == "```yaml") file(lines);
      if (line == "```console") console(lines);
    }
    return result_;
  }
  int commands() const { return commands_; }

 private:
  void file(std::istream& lines) {
    std::string content, name;
    for (std::string line; std::getline(lines, line) && line != "```";) {
      if (name.empty()) name = line.substr(2);
      content += line + '\n';
    }
    folder_->write(name, content);
    result_ += content + "```\n";
  }
  void console(std::istream& lines) {
    for (std::string line; std::getline(lines, line) && line != "```";) {
      if (line.rfind("$ ", 0) != 0) continue;  // what was printed then
      const std::filesystem::path program = SURD_EXECUTABLE;
      const Outcome outcome =
          shell("cd " + folder_->path() + " && PATH=" + program.parent_path().string() + ":$PATH && " + line.substr(2));
      result_ += line + '\n' + outcome.output;
      CAPTURE(line);
      CAPTURE(outcome.output);
      const bool is_surd = line.rfind("$ surd ", 0) == 0;
      CHECK(outcome.exit_code == (is_surd ? 2 : 0));
      commands_ += is_surd ? 1 : 0;
    }
    result_ += "```\n";
  }

  std::unique_ptr<TemporaryDirectory> folder_;
  std::string result_;
  int commands_ = 0;
};

}  // namespace

TEST_CASE("wrong configs get the messages that docs/wrong-configs.md shows") {
  const std::string text = read_file(page);
  Replay replay;
  const std::string now = replay(text);
  CHECK(replay.commands() >= 20);
  if (std::getenv("SURD_WRITE_DOCS") != nullptr) write_file_atomically(page, now);
  CHECK(now == read_file(page));
}
