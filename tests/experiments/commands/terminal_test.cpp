#include "tests/data/temporary_directory.hpp"
#include "tests/experiments/program.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <map>
#include <vector>

using namespace surd;
using namespace surd::test;

namespace {

/// The program on a terminal of its own.
class OnTerminal {
 public:
  explicit OnTerminal(std::vector<std::string> words, const std::map<std::string, std::string>& environment = {}) {
    winsize size = {};
    size.ws_row = 40, size.ws_col = 100;
    process_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (process_ != 0) return;
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    words.insert(words.begin(), "surd");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(SURD_EXECUTABLE, arguments.data());
    ::_exit(127);
  }
  ~OnTerminal() {
    ::close(terminal_);
    if (process_ > 0) ::waitpid(process_, nullptr, 0);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void type(const std::string& text) const {
    REQUIRE(::write(terminal_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  /// Reads what is shown until that holds `text`, or the program ends; whether it does.
  bool shows(const std::string& text) {
    while (!contains(shown_, text) && read()) {
    }
    return contains(shown_, text);
  }
  /// All that is shown until the program ends.
  const std::string& to_the_end() {
    while (read()) {
    }
    return shown_;
  }

 private:
  bool read() {
    constexpr int patience = 60'000;  // ms
    pollfd ready{terminal_, POLLIN, 0};
    char bytes[4096];
    if (::poll(&ready, 1, patience) != 1) return false;
    const ssize_t count = ::read(terminal_, bytes, sizeof bytes);  // EIO once nobody has the other end
    if (count > 0) shown_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }

  int terminal_ = -1;
  pid_t process_ = -1;
  std::string shown_;
};

struct Folder {
  TemporaryDirectory directory;
  std::string run = directory.path("run");
  std::string config = directory.write(
      "tiny.yaml",
      "task: {name: copy, train_size: 300, valid_size: 20, test_size: 20, vocabulary: 9, max_length: 3}\n"
      "model: {d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {width: 16}}\n"
      "train: {updates: 1000000, minutes: 0.03, batch_size: 16, evaluate_every: 1000000, checkpoint_every: 1000000}\n");
};

bool has_colour(const std::string& shown) {
  for (const char* code : {"\033[1m", "\033[32m", "\033[33m", "\033[31m"})
    if (contains(shown, code)) return true;
  return false;
}

TEST_CASE("a terminal is shown colours and a bar with a mean loss and tokens a second, unless NO_COLOR is set") {
  const Folder folder;
  OnTerminal coloured({"train", folder.config, "--out", folder.run});
  const std::string& shown = coloured.to_the_end();
  CHECK(contains(shown, "tokens/s, peak memory"));
  CHECK(contains(shown, "╌"));                              // of the bar, of which little is full
  CHECK(between(shown, "loss ", " tokens/s").size() < 25);  // the first of both are in one bar
  CHECK(has_colour(shown));
  for (const auto& [value, colours] : {std::pair("1", false), std::pair("", true)}) {
    OnTerminal plain({"train", folder.config, "--out", folder.run + value + "-plain"}, {{"NO_COLOR", value}});
    CHECK(has_colour(plain.to_the_end()) == colours);
  }
  OnTerminal dumb({"train", folder.config, "--out", folder.run + "-dumb"}, {{"TERM", "dumb"}});
  CHECK_FALSE(contains(dumb.to_the_end(), "\033["));
}

TEST_CASE("a line that is typed is answered before the next one") {
  const Folder folder;
  REQUIRE(program("train " + folder.config + " --out " + folder.run + " --set train.updates=1").exit_code == 0);
  OnTerminal score({"score", folder.run});
  score.type("a b\ta b\n");
  CHECK(score.shows("log_probs"));
  OnTerminal translate({"translate", folder.run, "--json"});
  for (const char* line : {"a b", "c d"}) {
    translate.type(line + std::string("\n"));
    CHECK(translate.shows("\"source\":\"" + std::string(line) + "\""));
  }
  translate.type("\004");
  translate.to_the_end();
}

}  // namespace
