#include "../program.hpp"
#include "experiments/command_line/command_help.hpp"
#include "experiments/command_line/command_line.hpp"
#include "experiments/commands/all_commands.hpp"
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
  const Outcome reference = program("config reference");
  CHECK(reference.exit_code == 0);
  CHECK(widest_line(reference.output) <= screen_width);
}

TEST_CASE("--help has a heading for each section, the common commands first") {
  CHECK(commands().sections().front() == "Train a model and use it");
  const std::string help = program_help(commands(), "surd");
  std::size_t before = 0;
  for (const std::string& section : commands().sections()) {
    CAPTURE(section);
    const std::size_t at = help.find("\n\n" + section + ":\n  ");
    REQUIRE(at != std::string::npos);
    CHECK(at > before);
    before = at;
  }
  CHECK(between(help, "Train a model and use it:\n", "\n\n").find("  train ") == 0);
  CHECK_FALSE(contains(help, "Further commands"));  // which a program of one's own has

  CommandTable table;
  table.add("fail", "Fail", fail);
  table.add_group("say", "Say something");
  table.section("Politeness");
  table.add("say hello", "Greet somebody", {"name"}, hello);
  table.add("greet", "Greet as well", {"name"}, hello);
  CHECK(table.sections() == std::vector<std::string>{"Commands", "Say something", "Politeness"});
  CHECK(contains(program_help(table, "my_surd"),
                 "\n\nCommands:\n  fail       Fail\n\nSay something:\n  say hello  Greet somebody\n\n"
                 "Politeness:\n  greet      Greet as well\n"));
  CHECK(contains(group_help(table, "say", "my_surd"), "\n\nSay something\n\n  say hello  Greet somebody\n"));
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
        Wrong{"list layer", "error: there is no command 'list layer'; did you mean 'layers'?"},
        Wrong{"list runs --csv --json", "error: --csv: is given beside --json; give one of them"},
        Wrong{"train", "error: CONFIG is required; `surd train --help` says what it takes\n"},
        Wrong{"score run --source s", "error: --target: goes together with --source; give both, or neither"},
        Wrong{"train a.yaml b.yaml", "error: 'b.yaml' is one word too many; `surd train --help`"},
        Wrong{"train a.yaml --out a --out b", "error: --out is given more than once; `surd train --help`"},
        Wrong{"config reference model.atention", "there is no key 'model.atention'; did you mean 'model.attention'?"},
        Wrong{"train a.yaml train.updates=10", "one word too many; did you mean '--set train.updates=10'?"},
        Wrong{"train a.yaml lr=0.1", "one word too many; did you mean '--set optimizer.learning_rate=0.1'?"},
        Wrong{"translate run lines.txt", "error: 'lines.txt' is one word too many; `surd translate --help`"},
        Wrong{"train a.yaml --set", "error: --set takes a value; `surd train --help`"},
        Wrong{"", "error: a command is missing; `surd --help`"},
        Wrong{"study", "error: a command is missing; `surd study --help`"},
        Wrong{"--verison", "there is no option '--verison' before a command; did you mean '--version'?"},
        Wrong{"version", "there is no command 'version'; did you mean '--version'?"},
        Wrong{"help", "there is no command 'help'; did you mean '--help'?"},
        Wrong{"check a.yaml", "there is no command 'check'; did you mean 'config check'"},
        Wrong{"evaluate run", "there is no command 'evaluate'; did you mean 'eval'?"},
        Wrong{"config reference heads", "there is no key 'heads'; did you mean 'model.heads'?"},
        Wrong{"config reference d_ff", "there is no key 'd_ff'; did you mean 'model.feed_forward.width'?"}}) {
    const Outcome outcome = program(wrong.words);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK(contains(outcome.output, wrong.message));
  }
}

TEST_CASE("an unknown option is answered with the setting or the option that may be meant") {
  struct Unknown {
    const char *words, *message;
  };
  for (const Unknown& unknown :
       {Unknown{"study export folder --csv",
                "error: there is no option '--csv'; `surd study export --help` says what it takes\n"},
        Unknown{"train a.yaml --updates 10",
                "error: there is no option '--updates'; did you mean '--set train.updates=10'?; `surd train --help`"},
        Unknown{"train --updates=10", "'--updates'; did you mean '--set train.updates=10'?"},
        Unknown{"train a.yaml --learning-rate 1e-3", "did you mean '--set optimizer.learning_rate=1e-3'?"},
        Unknown{"config check a.yaml --d_model --resume", "'--d_model'; did you mean '--set model.d_model=VALUE'?"},
        Unknown{"study run a.yaml --seed -1", "did you mean '--set seed=-1'?"},
        Unknown{"eval run --updates 10", "there is no option '--updates'; `surd eval --help` says what it takes"},
        Unknown{"train a.yaml --lr 0.1", "did you mean '--set optimizer.learning_rate=0.1'?"},
        Unknown{"train a.yaml --output x", "there is no option '--output'; did you mean '--out'?"},
        Unknown{"train a.yaml -o x", "there is no option '-o'; did you mean '--out'?"},
        Unknown{"export run --csv", "there is no option '--csv'; did you mean '--format csv'?"},
        Unknown{"train a.yaml --replica 2", "there is no option '--replica'; did you mean '--replicas'?"},
        Unknown{"score run --sourc s --target t", "there is no option '--sourc'; did you mean '--source'?"}}) {
    const Outcome outcome = program(unknown.words);
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK(contains(outcome.output, unknown.message));
  }
  CHECK(program("train --updates 10 --help").exit_code == 0);
}

TEST_CASE("the reference of a key has that key and those below it") {
  const Outcome below = program("config reference model.attention");
  CHECK(below.exit_code == 0);
  CHECK(below.output.rfind("model.attention: mapping\n", 0) == 0);
  CHECK(contains(below.output, "\nmodel.attention.scale: "));
  std::istringstream lines(below.output);
  for (std::string line; std::getline(lines, line);)
    CHECK((line.rfind("model.attention", 0) == 0 || line.rfind("    ", 0) == 0));
  CHECK(program("config reference train.updates").output.rfind("train.updates: whole number", 0) == 0);
  CHECK(contains(program("config reference optimizer.groups").output, "\noptimizer.groups[].match: "));
}
