#include "autograd/base/fields.hpp"

#include "autograd/ops.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace surd {
namespace {

TEST_CASE("ranges say what they hold") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    Range range;
    std::string text;
    std::vector<double> held, refused;
  };
  Range below;
  below.high = 2;
  Range strictly_below = below;
  strictly_below.high_included = false;
  const std::vector<Case> cases = {
      {at_least(1), "at least 1", {1, 2, inf}, {0.999, -inf, nan}},
      {above(0), "greater than 0", {1e-300, 5}, {0, -1, nan}},
      {between(-1, 2.5), "in [-1, 2.5]", {-1, 0, 2.5}, {-1.01, 2.51, nan}},
      {fraction(), "in [0, 1)", {0, 0.5, 0.999}, {1, 0.99999999, -0.001, nan}},
      {{0, 1, false, true}, "in (0, 1]", {0.001, 1}, {0, 1.001}},
      {below, "at most 2", {2, -inf}, {2.01, nan}},
      {strictly_below, "less than 2", {1.99}, {2}},
      {{}, "", {-inf, 0, inf}, {nan}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(c.range.text() == c.text);
    for (const double value : c.held) CHECK(c.range.holds(value));
    for (const double value : c.refused) CHECK_FALSE(c.range.holds(value));
  }
}

enum class Colour { red, green, blue };
std::vector<std::string> names_of(Colour) { return {"red", "green", "blue"}; }

struct Inner {
  double rate = 0.5;
  void fields(Fields& f) { f("rate", rate, "chance of a drop", fraction()); }
};

struct Group {
  std::size_t size = 1;
  void fields(Fields& f) { f("size", size, "number of them", at_least(1)); }
};

struct Options {
  bool on = true;
  std::size_t width = 8;
  double scale = 1;
  std::string name = "x";
  std::optional<std::size_t> limit;
  std::optional<double> clip;
  Colour colour = Colour::green;
  Inner inner;
  std::vector<Group> groups;
  std::vector<std::string> names = {"a", "b"};
  double end = 0;

  void fields(Fields& f) {
    f("on", on, "whether it is on");
    f("width", width, "inner width", at_least(1), Unit{"columns"});
    f("scale", scale, "factor", between(-2, 2));
    f("name", name, "what it is called");
    f("limit", limit, "at most so many", at_least(1));
    f("clip", clip, "largest norm", above(0));
    f("colour", colour, "its colour");
    f("inner", inner, "more", When{on, "on is true"});
    f("groups", groups, "several");
    f("names", names, "what they are called");
    f("end", end, "final value", at_least(0), When{on, "on is true"});
    f.rule(width % 4 == 0 || !on, "width", "must be a multiple of 4");
  }
};

/// What check_options says after `change`; "" if nothing.
template <class Change>
std::string message(Change change) {
  Options options;
  change(options);
  try {
    check_options("model.thing", options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("check_options names the place, the field and the rule") {
  using O = Options&;
  CHECK(message([](O) {}) == "");
  CHECK(message([](O o) { o.width = 0; }) == "model.thing: width must be at least 1; got 0");
  CHECK(message([](O o) { o.scale = -3; }) == "model.thing: scale must be in [-2, 2]; got -3");
  CHECK(message([](O o) { o.scale = std::numeric_limits<double>::quiet_NaN(); }) ==
        "model.thing: scale must be in [-2, 2]; got nan");
  CHECK(message([](O o) { o.limit = 0; }) == "model.thing: limit must be at least 1; got 0");
  CHECK(message([](O o) { o.limit = 1; }) == "");
  CHECK(message([](O o) { o.clip = 0.0; }) == "model.thing: clip must be greater than 0; got 0");
  for (const double beyond : {1e-46, 1e39})  // 0 and infinity as a float
    CHECK(message([&](O o) { o.clip = beyond; }) ==
          fmt::format("model.thing: clip must be of a size from 1.2e-38 to 3.4e38; got {}", beyond));
  CHECK(message([](O o) { o.width = 6; }) == "model.thing: width must be a multiple of 4; it is 6");
}

TEST_CASE("check_options descends into groups and lists") {
  using O = Options&;
  CHECK(message([](O o) { o.inner.rate = 1; }) == "model.thing.inner: rate must be in [0, 1); got 1");
  CHECK(message([](O o) { o.groups = {{1}, {3}}; }) == "");
  CHECK(message([](O o) { o.groups = {{1}, {0}}; }) == "model.thing.groups[1]: size must be at least 1; got 0");
}

TEST_CASE("check_options leaves alone what is not read") {
  using O = Options&;
  CHECK(message([](O o) { o.end = -1; }) == "model.thing: end must be at least 0; got -1");
  CHECK(message([](O o) { o.end = -1, o.on = false; }) == "");
  CHECK(message([](O o) { o.inner.rate = 1, o.on = false; }) == "");
}

/// Writes down what a visitor is told, and changes what it may.
class Reader : public Fields {
 public:
  std::vector<std::string> seen;
  std::string word;
  bool accepted = false;

  void rule(bool holds, const char* field, const std::string& message) override {
    seen.push_back(fmt::format("rule {} {} {}", field, holds, message));
  }

 private:
  template <class T>
  void note(const Field& field, const T& value) {
    seen.push_back(fmt::format("{}={}{}{}|{}", field.name, value, *field.unit ? " " : "", field.unit, field.help));
  }
  void visit(const Field& field, bool& value) override { note(field, value); }
  void visit(const Field& field, std::size_t& value) override { note(field, value); }
  void visit(const Field& field, double& value) override {
    note(field, value);
    if (*field.condition != '\0') seen.push_back(fmt::format("when {} {}", field.condition, field.read));
  }
  void visit(const Field& field, std::string& value) override { note(field, value); }
  void visit(const Field& field, std::optional<std::size_t>& value) override { note(field, value.value_or(99)); }
  void visit(const Field& field, std::optional<double>& value) override { note(field, value.value_or(99)); }
  void visit(const Field& field, Word& value) override {
    note(field, value.text());
    seen.push_back(value.allowed());
    accepted = value.parse(word);
  }
  void visit(const Field& field, std::vector<std::string>& value) override {
    note(field, fmt::format("{}", fmt::join(value, ",")));
    value.emplace_back("more");
  }
  void visit_group(const Field& field, const Members& members) override {
    note(field, "{");
    members(*this);
  }
  void visit_choice(const Field&, const char*, AnyChoice&) override {}
  void visit_list(const Field& field, std::size_t size, const std::function<void(std::size_t)>& resize,
                  const std::function<void(std::size_t, Fields&)>& members) override {
    note(field, size);
    resize(2);
    for (std::size_t i = 0; i < 2; ++i) members(i, *this);
  }
};

TEST_CASE("a visitor is told every field, in order, with its attributes") {
  Options options;
  options.limit = 7;
  Reader reader;
  reader.word = "blue";
  options.fields(reader);
  CHECK(reader.seen == std::vector<std::string>{"on=true|whether it is on", "width=8 columns|inner width",
                                                "scale=1|factor", "name=x|what it is called", "limit=7|at most so many",
                                                "clip=99|largest norm", "colour=green|its colour",
                                                "one of red, green, blue", "inner={|more", "rate=0.5|chance of a drop",
                                                "groups=0|several", "size=1|number of them", "size=1|number of them",
                                                "names=a,b|what they are called", "end=0|final value",
                                                "when on is true true", "rule width true must be a multiple of 4"});
  CHECK(reader.accepted);
  CHECK(options.colour == Colour::blue);
  CHECK(options.groups.size() == 2);
  CHECK(options.names == std::vector<std::string>{"a", "b", "more"});
}

TEST_CASE("an enumeration takes its own words only") {
  Options options;
  Reader reader;
  for (const std::string word : {"", "Red", "red ", "purple"}) {
    reader.word = word;
    options.fields(reader);
    CHECK_FALSE(reader.accepted);
    CHECK(options.colour == Colour::green);
  }
  CHECK(name_of(Colour::red) == "red");
  CHECK(name_of(Activation::none) == "none");
  CHECK(name_of(Activation::sigmoid) == "sigmoid");
  CHECK(names_of(Activation{}).size() == 7);
}

TEST_CASE("nearest finds small slips") {
  const std::vector<std::string> words = {"learning_rate", "warmup", "dropout", "d_model", "heads", "tie"};
  CHECK(nearest("learning_rate", words) == "learning_rate");
  CHECK(nearest("lerning_rate", words) == "learning_rate");    // a letter missing
  CHECK(nearest("learninng_rate", words) == "learning_rate");  // one too many
  CHECK(nearest("learnign_rate", words) == "learning_rate");   // two in the wrong order
  CHECK(nearest("wramup", words) == "warmup");
  CHECK(nearest("AdamW", {"adam", "adamw"}) == "adamw");  // and not what is one letter away
  CHECK(nearest("RMSNorm", {"layer_norm", "rms_norm"}) == "rms_norm");
  CHECK(nearest("warm_up", words) == "warmup");
  CHECK(nearest("AdmaW", {"sgd", "adamw"}) == "adamw");  // a slip in another way to write it
  CHECK(nearest("Learning-Rat", words) == "learning_rate");
  CHECK(nearest("d_modle", words) == "d_model");
  CHECK(nearest("head", words) == "heads");
  CHECK(nearest("tye", words) == "tie");
  CHECK(nearest("toe", {"tie", "toes"}) == "tie");  // the first of equals
}

TEST_CASE("nearest suggests nothing for what is not near") {
  const std::vector<std::string> words = {"learning_rate", "warmup", "heads", "tie"};
  CHECK(nearest("momentum", words) == "");
  CHECK(nearest("tax", words) == "");
  CHECK(nearest("heaven", {"heads"}) == "");  // 3 changes in 6 letters
  CHECK(nearest("", words) == "");
  CHECK(nearest("x", {}) == "");
  // A transposition counts once, so two of them are within a third of six letters.
  CHECK(nearest("badcef", {"abcdef"}) == "abcdef");
}

}  // namespace
}  // namespace surd
