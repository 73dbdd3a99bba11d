#include "../program.hpp"
#include "experiments/commands/command_help.hpp"
#include "experiments/commands/command_line.hpp"
#include "experiments/config/key_names.hpp"
#include "experiments/program/text_format.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

using namespace surd;
using namespace surd::test;

namespace {

struct HelloArguments {
  std::string name;
  Texts others;
  bool loudly = false;
  std::size_t times = 1;

  void fields(Fields& f) {
    f("name", name, "whom to greet");
    f("others", others, "and whom else");
    f("loudly", loudly, "in capitals");
    f("times", times, "how often", between(1, 3));
  }
};

HelloArguments greeted;  // by the last call
int calls = 0;

int hello(const HelloArguments& arguments) {
  greeted = arguments;
  ++calls;
  return 7;
}
int fail() { throw Error("it went wrong"); }

/// The exit code of a command line with the commands of `table`.
int run(const CommandTable& table, std::vector<const char*> words) {
  words.insert(words.begin(), "my_surd");
  return run_command_line(table, static_cast<int>(words.size()), words.data());
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

}  // namespace

TEST_CASE("every command has its arguments from its field list, and help for each") {
  CHECK(commands().rows().size() >= 20);
  for (const CommandRow& row : commands().rows()) {
    CAPTURE(row.name);
    CHECK_FALSE(row.help.empty());
    const auto command = row.make();
    const auto names = keys_of([&](Fields& f) { command->fields(f); });
    std::set<std::string> fields(names.begin(), names.end()), arguments;
    for (const Argument& argument : row.arguments) {
      CAPTURE(argument.field);
      CHECK_FALSE(argument.help.empty());
      arguments.insert(argument.field);
    }
    CHECK(arguments == fields);
  }
}

TEST_CASE("--help of every command is what its row says, and fits a terminal") {
  const std::string name = std::filesystem::path(SURD_EXECUTABLE).filename().string();
  const auto check = [&](const std::string& words, const std::string& expected) {
    CAPTURE(words);
    const Outcome help = program(words + " --help");
    CHECK(help.exit_code == 0);
    CHECK(help.output == expected);
    CHECK(widest_line(help.output) <= screen_width);
  };
  check("", program_help(commands(), name));
  for (const CommandGroup& group : commands().groups()) check(group.name, group_help(commands(), group.name, name));
  for (const CommandRow& row : commands().rows()) {
    check(row.name, command_help(row, name));
    for (const Argument& argument : row.arguments) CHECK(contains(command_help(row, name), argument.spelling));
  }
}

TEST_CASE("a command of another program is parsed, run and helped like all others") {
  CommandTable table;
  table.add_group("say", "Say something");
  table.add("say hello", "Greet somebody", {"name"}, hello);
  table.add("fail", "Fail", fail);
  CHECK(run(table, {"say", "hello", "--times", "2", "Ada", "--others", "B", "--others", "C", "--loudly"}) == 7);
  CHECK(greeted.name == "Ada");
  CHECK(greeted.others.values == std::vector<std::string>{"B", "C"});
  CHECK(greeted.loudly);
  CHECK(greeted.times == 2);
  CHECK(run(table, {"say", "hello", "Ada"}) == 7);  // begins from the defaults again
  CHECK(greeted.others.values.empty());
  CHECK_FALSE(greeted.loudly);
  CHECK(calls == 2);
  CHECK(run(table, {"fail"}) == 1);

  for (const std::vector<const char*>& wrong :
       std::vector<std::vector<const char*>>{{},
                                             {"say"},
                                             {"say", "hello"},
                                             {"say", "hello", "Ada", "Bo"},
                                             {"say", "hello", "Ada", "--shy"},
                                             {"say", "hello", "Ada", "--times"},
                                             {"say", "hello", "Ada", "--times", "4"},
                                             {"hello", "Ada"}})
    CHECK(run(table, wrong) == 2);
  CHECK(calls == 2);
  CHECK(command_help(table.rows().front(), "my_surd") ==
        "Usage: my_surd say hello [OPTIONS] NAME\n\n"
        "Greet somebody\n\n"
        "  NAME  whom to greet\n\n"
        "Options:\n"
        "  --others WORD  and whom else; may be repeated\n"
        "  --loudly       in capitals\n"
        "  --times N      how often (in [1, 3]; default 1)\n"
        "  --help         print this\n");
}

TEST_CASE("the table refuses what cannot be called") {
  CommandTable table;
  table.add_group("say", "Say something");
  table.add("fail", "Fail", fail);
  CHECK_THROWS_WITH_AS(table.add("fail", "Again", fail), "command: 'fail' is in the table already", Error);
  CHECK_THROWS_WITH_AS(table.add("say", "A group", fail), "command: 'say' is in the table already", Error);
  CHECK_THROWS_WITH_AS(table.add_group("fail", "A command"), "command: 'fail' is in the table already", Error);
  CHECK_THROWS_WITH_AS(table.add("cry out", "No such group", fail),
                       "command: 'cry out' is in no group; add_group(\"cry\", ...) comes first", Error);
  CHECK_THROWS_WITH_AS(table.add("hello", "Greet", {"nobody"}, hello), "nobody: is required, but not in the field list",
                       Error);
  CHECK(table.rows().size() == 1);
}

TEST_CASE("a wrong value is answered with its option and what is allowed") {
  struct Wrong {
    const char *words, *message;
  };
  for (const Wrong& wrong :
       {Wrong{"train x.yaml --replicas 0", "error: --replicas: must be in [1, 256]; got 0"},
        Wrong{"translate run --beam many", "error: --beam: must be a whole number (in [1, 1000]); got 'many'"},
        Wrong{"translate run --length-penalty 101", "error: --length-penalty: must be in [0, 100]; got 101"},
        Wrong{"bench step --dropout -0.1", "error: --dropout: must be in [0, 0.99]; got -0.1"},
        Wrong{"list layer",
              "error: WHAT: must be one of tasks, subwords, layers, optimizers, schedules; got 'layer'; did"},
        Wrong{"train", "CONFIG is required"}, Wrong{"score run --source s", "--target is required"},
        Wrong{"train a.yaml b.yaml", "not expected: b.yaml"}, Wrong{"study export folder --csv", "not expected: --csv"},
        Wrong{"train a.yaml --out a --out b", "--out: At Most 1 required but received 2"}}) {
    const Outcome outcome = program(wrong.words);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK(contains(outcome.output, wrong.message));
  }
}
