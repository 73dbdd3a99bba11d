#include "experiments/command_line/arguments.hpp"
#include "experiments/program/usage_error.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

using namespace surd;

namespace {

enum class Colour { red, dark_blue };
std::vector<std::string> names_of(Colour) { return {"red", "dark_blue"}; }

/// A field of every kind.
struct AllKinds {
  std::string place;
  Texts tags;
  bool deep_blue = false;
  std::size_t count = 3;
  double rate = 0.5;
  std::string title = "none";
  std::optional<std::size_t> limit;
  std::optional<double> bound;
  Colour colour = Colour::red;

  void fields(Fields& f) {
    f("place", place, "where");
    f("tags", tags, "what it is", Unit{"tag"});
    f("deep_blue", deep_blue, "not light");
    f("count", count, "how many", between(1, 10));
    f("rate", rate, "how fast", fraction(), Unit{"share"});
    f("title", title, "its name", When{!deep_blue, "deep_blue is false"});
    f("limit", limit, "at most", at_least(2));
    f("bound", bound, "below");
    f("colour", colour, "which one");
    f.rule(count != 7, "count", "must not be 7");
  }
};

const std::vector<std::string> required = {"place", "--count"};

std::vector<Argument> arguments_of_all_kinds() {
  AllKinds options;
  return arguments_of([&](Fields& f) { options.fields(f); }, required);
}

AllKinds read(const GivenTexts& given) {
  AllKinds options;
  read_arguments([&](Fields& f) { options.fields(f); }, arguments_of_all_kinds(), given);
  return options;
}

/// What the list of a struct is refused for; "" where it is not.
template <class Options>
std::string refusal(const std::vector<std::string>& names = {}) {
  Options options;
  try {
    static_cast<void>(arguments_of([&](Fields& f) { options.fields(f); }, names));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Inner {
  bool flag = false;
  void fields(Fields& f) { f("flag", flag, "one"); }
};
struct Nested {
  Inner inner;
  void fields(Fields& f) { f("inner", inner, "a group"); }
};
struct Twice {
  bool a = false, b = false;
  void fields(Fields& f) {
    f("same", a, "one");
    f("same", b, "two");
  }
};
struct Help {
  bool help = false;
  void fields(Fields& f) { f("help", help, "what --help is for"); }
};
struct TrueFlag {
  bool on = true;
  void fields(Fields& f) { f("on", on, "cannot be taken back"); }
};

}  // namespace

TEST_CASE("an argument follows from its field") {
  const auto all = arguments_of_all_kinds();
  REQUIRE(all.size() == 9);
  struct Expected {
    std::string spelling, value, allowed, default_value;
  };
  const std::vector<Expected> expected = {{"PLACE", "", "", ""},
                                          {"--tags", "TAG", "", ""},
                                          {"--deep-blue", "", "", ""},
                                          {"--count", "N", "in [1, 10]", ""},
                                          {"--rate", "SHARE", "in [0, 1)", "0.5"},
                                          {"--title", "TEXT", "", "none"},
                                          {"--limit", "N", "at least 2", ""},
                                          {"--bound", "NUMBER", "", ""},
                                          {"--colour", "WORD", "one of red, dark_blue", "red"}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].field);
    CHECK(all[i].spelling == expected[i].spelling);
    CHECK(all[i].value == expected[i].value);
    CHECK(all[i].allowed == expected[i].allowed);
    CHECK(all[i].default_value == expected[i].default_value);
    CHECK(all[i].positional == (i == 0));
    CHECK(all[i].required == (i == 0 || i == 3));
    CHECK(all[i].repeated == (i == 1));
    CHECK(all[i].flag() == (i == 2));
    CHECK(all[i].text == (i == 0 || i == 1 || i == 5));
    CHECK(all[i].choices == (i == 8 ? names_of(Colour()) : std::vector<std::string>()));
  }
}

TEST_CASE("values are read in every kind, and what is not given keeps its default") {
  const AllKinds none = read({});
  CHECK(none.count == 3);
  CHECK(none.title == "none");
  CHECK_FALSE(none.limit);
  const AllKinds options = read({{"place", {"here"}},
                                 {"tags", {"a=1", "b 2"}},
                                 {"count", {"10"}},
                                 {"rate", {"1e-2"}},
                                 {"title", {"a b"}},
                                 {"limit", {"2"}},
                                 {"bound", {"-3.5"}},
                                 {"colour", {"dark_blue"}}});
  CHECK(options.place == "here");
  CHECK(options.tags.values == std::vector<std::string>{"a=1", "b 2"});
  CHECK(options.count == 10);
  CHECK(options.rate == 0.01);
  CHECK(options.title == "a b");
  CHECK(options.limit == 2);
  CHECK(options.bound == -3.5);
  CHECK(options.colour == Colour::dark_blue);
  CHECK(read({{"deep_blue", {"true"}}}).deep_blue);
}

TEST_CASE("every wrong value is told at once, with its option and what is allowed") {
  const auto complaint = [](const GivenTexts& given) -> std::string {
    try {
      read(given);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(complaint({}).empty());
  CHECK(complaint({{"count", {"0"}}}) == "--count: must be in [1, 10]; got 0");
  CHECK(complaint({{"title", {""}}}) == "--title: is empty");
  CHECK(complaint({{"count", {"2.5"}}}) == "--count: must be a whole number (in [1, 10]); got '2.5'");
  CHECK(complaint({{"limit", {"1"}}}) == "--limit: must be at least 2; got 1");
  CHECK(complaint({{"limit", {"null"}}}) == "--limit: must be a whole number (at least 2); got 'null'");
  CHECK(complaint({{"count", {"7"}}}) == "--count: must not be 7");
  CHECK(complaint({{"colour", {"dark_bleu"}}}) ==
        "--colour: must be one of red, dark_blue; got 'dark_bleu'; did you mean 'dark_blue'?");
  CHECK(complaint({{"deep_blue", {"true"}}, {"title", {"x"}}}) == "--title: is read only when deep_blue is false");
  CHECK(complaint({{"rate", {"1"}}, {"bound", {"x"}}}) ==
        "--rate: must be in [0, 1); got 1\nerror: --bound: must be a number; got 'x'");
}

TEST_CASE("a list that a command line cannot have is refused") {
  CHECK(refusal<AllKinds>(required).empty());
  CHECK(refusal<AllKinds>({"plaice"}) == "plaice: is required, but not in the field list");
  CHECK(refusal<AllKinds>({"--deep-blue"}) == "deep_blue: a flag cannot be required");
  CHECK(refusal<Nested>() == "inner: a command line has no place for a mapping or a list");
  CHECK(refusal<Twice>() == "same: two arguments have this name; rename one");
  CHECK(refusal<Help>() == "help: two arguments have this name; rename one");
  CHECK(refusal<TrueFlag>() == "on: a flag begins as false and has no unit");
}
