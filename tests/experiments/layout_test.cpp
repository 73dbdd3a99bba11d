#include "../data/temporary_directory.hpp"
#include "experiments/console.hpp"
#include "experiments/text_format.hpp"
#include "program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

using namespace surd;
using namespace surd::test;

namespace {

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// The lines that are wider than a screen.
std::vector<std::string> wide_lines(const std::string& text) {
  std::vector<std::string> wide;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (width_of(line) > screen_width) wide.push_back(line);
  return wide;
}

}  // namespace

TEST_CASE("a progress line is never wider than the terminal") {
  const std::string text = "120/3000  51.2/s  loss 1.2345  0:56 left";
  for (std::size_t columns = 0; columns <= 120; ++columns) {
    CAPTURE(columns);
    const BarLine line = bar_line(120, 3000, text, columns);
    const std::size_t width = width_of(line.bar + line.text);
    CHECK(width <= (columns == 0 ? 0 : columns - 1));
    if (columns > text.size()) CHECK(contains(line.text, text));
    if (columns > text.size() + 5) CHECK_FALSE(line.bar.empty());
  }
  CHECK(width_of(bar_line(120, 3000, text, 200).bar) == 24);
  CHECK(contains(bar_line(2, 1, "", 80).bar, "━"));  // more than there were to do
}

TEST_CASE("a dumb terminal gets neither colours nor a bar") {
  const auto on_terminal = [](const char* kind) {
    return shell("env -u NO_COLOR TERM=" + std::string(kind) + " script -qec '" SURD_EXECUTABLE " eval /nowhere; " +
                 SURD_EXECUTABLE " compare /nowhere' /dev/null");
  };
  CHECK(contains(on_terminal("xterm").output, "\033[33mwarning:"));
  const Outcome dumb = on_terminal("dumb");
  CHECK(contains(dumb.output, "warning:"));
  CHECK_FALSE(contains(dumb.output, "\033"));
}

TEST_CASE("items that do not fit beside their label go on beneath it, whole") {
  CHECK(labelled("seed", {"1"}, ",") == "seed        1");
  const std::string item(30, 'x');
  CHECK(labelled("model", {item, item, item}, ";") == "model       " + item + "; " + item + ";\n            " + item);
  const std::string full(screen_width - 12, 'y');
  CHECK(labelled("a", {full}, ",") == "a           " + full);
  CHECK(labelled("a", {}, ",") == "a           ");
}

TEST_CASE("what a run and its commands print fits a screen") {
  const TemporaryDirectory folder;
  const std::string config =
      folder.write("t.yaml",
                   "task: {name: reverse, train_size: 60, valid_size: 8, test_size: 8, vocabulary: 9, max_length: 3}\n"
                   "model: {d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {width: 8}}\n"
                   "train: {updates: 4, batch_size: 16, evaluate_every: 2, checkpoint_every: 2}\n");
  // Relative paths, so that the folder's own length does not count.
  const auto run = [&](const std::string& arguments) {
    const Outcome outcome = shell("cd " + folder.path() + " && " SURD_EXECUTABLE " " + arguments);
    CAPTURE(arguments);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 0);
    CHECK(wide_lines(outcome.output) == std::vector<std::string>());
    return outcome.output;
  };
  const std::string trained = run("train t.yaml --out a");
  CHECK(contains(trained, "sequences"));
  CHECK(contains(trained, "finished after 4 updates"));
  CHECK(contains(trained, "logits x1"));
  run("eval a");
  run("train t.yaml --out b --set model.embedding.scale=one --set model.attention.scale=one");
  run("train t.yaml --out c --set model.embedding.scale=one --set seed=2");
  CHECK(contains(run("compare a a"), "finished  valid loss"));
  // Two keys: letters in the header, keys beneath.
  const std::string two = run("compare a b c");
  CHECK(contains(two, "A             B         finished  valid loss"));
  CHECK(contains(two, "\nA  model.attention.scale\nB  model.embedding.scale\n"));
  // Many keys: the values are beneath as well.
  run("train t.yaml --out d --set optimizer.name=adafactor --set schedule.name=inverse_sqrt"
      " --set model.feed_forward.name=gated --set model.attention.name=multi_query");
  const std::string many = run("compare a b c d");
  CHECK(contains(many, "group  finished  valid loss"));
  CHECK(contains(many, "model.attention.name: multi_query"));
  CHECK(contains(many, "\nD      1/1"));
}
