#include "experiments/config/read_options.hpp"

#include "experiments/config/settings.hpp"
#include "experiments/config/write_options.hpp"
#include "tests/experiments/config/config_cases.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace surd {
namespace {

using test::complaint;
using test::read;
using test::SmallOptions;

TEST_CASE("values are read in the forms the documentation gives") {
  CHECK(read("seed: 100_000\n").seed == 100'000);
  CHECK(read("seed: 0\n").seed == 0);
  CHECK(read("seed: 18446744073709551615\n").seed == std::numeric_limits<std::size_t>::max());
  CHECK(read("clip: 1e-4\n").clip == 1e-4);
  CHECK(read("clip: 3\n").clip == 3.0);
  CHECK(read("clip: .5\n").clip == 0.5);
  CHECK(read("clip: ~\n").clip == std::nullopt);
  CHECK(read("clip:\n").clip == std::nullopt);
  CHECK(read("limit: null\n").limit == std::nullopt);
  CHECK(read("limit: 3\n").limit == 3);
  CHECK_FALSE(read("model: {bias: false}\n").model.bias);
  CHECK(read("title: 2016\n").title == "2016");
  CHECK(read("title: 'null'\n").title == "null");
  CHECK(read("title: ''\n").title.empty());
  CHECK(read("{}\n").title == "a run");
  using Texts = std::vector<std::string>;
  CHECK(read("tags: [a, 'b, c', 64]\n").tags == Texts{"a", "b, c", "64"});
  CHECK(read("tags:\n  - a\n  - b\n").tags == Texts{"a", "b"});
  CHECK(read("tags: [a]\n", {"tags=[b, c]"}).tags == Texts{"b", "c"});
  CHECK(read("tags: []\n").tags.empty());
}

TEST_CASE("every wrong value is told what is right") {
  struct Case {
    std::string text, message;
  };
  const std::string model_keys = "d_model, heads, dropout, bias, init, kind, warmup, floor";
  const std::vector<Case> cases = {
      {"seed: abc\n", "c.yaml:1:7: seed: must be a whole number; got 'abc'"},
      {"seed: 0x10\n", "c.yaml:1:7: seed: must be a whole number; got '0x10'"},
      {"seed: 010\n", "c.yaml:1:7: seed: must be a whole number; got '010'; write 10"},
      {"seed: 4.0\n", "c.yaml:1:7: seed: must be a whole number; got '4.0'; write 4"},
      {"seed: 4.5\n", "c.yaml:1:7: seed: must be a whole number; got '4.5'"},
      {"seed: -3\n", "c.yaml:1:7: seed: must be a whole number; got '-3'"},
      {"seed: 1__0\n", "c.yaml:1:7: seed: must be a whole number; got '1__0'"},
      {"seed: '4'\n", "c.yaml:1:7: seed: must be a whole number; got the text \"4\"; remove the quotes"},
      {"seed: [4]\n", "c.yaml:1:7: seed: must be a whole number; got a list"},
      {"seed: {a: 4}\n", "c.yaml:1:7: seed: must be a whole number; got a mapping"},
      {"tags: a\n", "c.yaml:1:7: tags: must be a list such as [a, b]; got 'a'"},
      {"tags:\n", "c.yaml:1:1: tags: must be a list such as [a, b]; got nothing"},
      {"tags: [a, [b]]\n", "c.yaml:1:11: tags[1]: must be text; got a list"},
      {"seed:\n", "c.yaml:1:1: seed: must be a whole number; got nothing"},
      {"seed: 18446744073709551616\n",
       "c.yaml:1:7: seed: must be at most 18446744073709551615; got '18446744073709551616'"},
      {"limit: none\n", "c.yaml:1:8: limit: must be a whole number or null (at least 1); got 'none'"},
      {"limit: 0\n", "c.yaml:1:8: limit: must be at least 1; got 0"},
      {"clip: .inf\n", "c.yaml:1:7: clip: must be a number or null (greater than 0); got '.inf'"},
      {"clip: nan\n", "c.yaml:1:7: clip: must be a number or null (greater than 0); got 'nan'; write a finite one"},
      {"clip: 1,5\n", "c.yaml:1:7: clip: must be a number or null (greater than 0); got '1,5'"},
      {"clip: 1e999\n", "c.yaml:1:7: clip: must be of a size from 1.2e-38 to 3.4e38; got '1e999'"},
      {"clip: 1e-46\n", "c.yaml:1:7: clip: must be of a size from 1.2e-38 to 3.4e38; got 1e-46"},
      {"clip: '1'\n",
       "c.yaml:1:7: clip: must be a number or null (greater than 0); got the text \"1\"; remove the quotes"},
      {"model: {dropout: 1}\n", "c.yaml:1:18: model.dropout: must be in [0, 1); got 1"},
      {"model: {dropout: 0.999999999}\n",
       "c.yaml:1:18: model.dropout: must be in [0, 1); got 0.999999999, which is 1 in single precision"},
      {"model: {bias: yes}\n", "c.yaml:1:15: model.bias: must be true or false; got 'yes'"},
      {"model: {bias: 'true'}\n", "c.yaml:1:15: model.bias: must be true or false; got the text \"true\""},
      {"title:\n", "c.yaml:1:1: title: must be text; got nothing; write '' for an empty text"},
      {"title: [a]\n", "c.yaml:1:8: title: must be text; got a list"},
      {"model: {init: {distribution: nromal}}\n",
       "c.yaml:1:30: model.init.distribution: must be one of normal, uniform, xavier; got 'nromal'; did you mean "
       "'normal'?"},
      {"model: {init: {distribution: [normal]}}\n",
       "c.yaml:1:30: model.init.distribution: must be one of normal, uniform, xavier; got a list"},
      {"model: 3\n", "c.yaml:1:8: model: must be a mapping, its keys (" + model_keys + ") indented below it; got '3'"},
      {"model:\n  heads:4\n", "c.yaml:2:3: model: must be a mapping, its keys (" + model_keys +
                                  ") indented below it; got 'heads:4'; put a "
                                  "space after the ':'"},
      {"model:\nseed: 1\n", "c.yaml:1:1: model: must be a mapping, its keys (" + model_keys +
                                ") indented below it; got nothing; write its "
                                "keys or remove it"},
      {"model: cosine\n", "c.yaml:1:8: model: must be a mapping, its keys (" + model_keys +
                              ") indented below it; got 'cosine'; did you mean 'model.kind'?"},
      {"schedule: linear\n", "c.yaml:1:11: schedule: must be a mapping such as {name: linear}; got 'linear'"},
      {"groups: {match: a}\n", "c.yaml:1:9: groups: must be a list, each element after a '- '; got a mapping"},
      {"groups: [a]\n", "c.yaml:1:10: groups[0]: must be a mapping; got 'a'"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(complaint(c.text) == c.message);
  }
}

TEST_CASE("an unknown key is answered with the nearest, with its place, or with what there is") {
  struct Case {
    std::string text, message;
  };
  const std::vector<Case> cases = {
      {"model:\n  width: 64\n",
       "c.yaml:2:3: model.width: unknown key; allowed here: d_model, heads, dropout, bias, init, kind, warmup, floor"},
      {"model.heads: 4\n",
       "c.yaml:1:1: model.heads: unknown key; keys are nested: write what follows each '.' on a line of "
       "its own, indented"},
      {"groups:\n- match: a\n  factr: 2\n", "c.yaml:3:3: groups[0].factr: unknown key; did you mean 'factor'?"},
      {"schedule: {zzz: 1}\n", "c.yaml:1:12: schedule.zzz: unknown key; allowed here: name"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(complaint(c.text) == c.message);
  }
}

TEST_CASE("what other tools call a key or a name is understood") {
  struct Case {
    std::string text, message;
  };
  const std::vector<Case> cases = {
      {"model: {hidden_size: 64}\n", "c.yaml:1:9: model.hidden_size: unknown key; did you mean 'd_model'?"},
      {"warmup_steps: 3\n", "c.yaml:1:1: warmup_steps: unknown key; it is called model.warmup here"},
      {"schedule: {name: cosine_annealing, cycles: 0}\n",
       "c.yaml:1:18: schedule.name: must be one of constant, linear, cosine; got 'cosine_annealing'; did you mean "
       "'cosine'?\n"
       "c.yaml:1:44: schedule.cycles: must be greater than 0; got 0"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(complaint(c.text) == c.message);
  }
}

TEST_CASE("the defaults of a config have its choices, so that only what it sets besides differs") {
  const auto settings = [](const SmallOptions& options) {
    return settings_of(YamlDocument::parse(write_yaml(options), "c.yaml").root());
  };
  const Settings set = settings(read("seed: 7\nschedule: {name: cosine, cycles: 2}\nmodel: {kind: constant}\n"));
  const auto defaults = defaults_with_choices<SmallOptions>(set);
  CHECK(defaults.schedule.name() == "cosine");
  CHECK(defaults.model.kind.name() == "constant");
  CHECK(difference(settings(defaults), set) == "\n  schedule.cycles: 0.5 -> 2\n  seed: 1 -> 7");
  CHECK(difference(set, set).empty());
}

TEST_CASE("a key that these options do not read is refused") {
  struct Case {
    std::string text, message;
  };
  const std::vector<Case> cases = {
      {"model:\n  init:\n    std: 0.1\n",
       "c.yaml:3:5: model.init.std: is not read here: it is read only when distribution is normal or uniform "
       "(distribution is xavier by default); change that or remove this key"},
      {"model: {init: {std: 0.1, distribution: xavier}}\n",
       "c.yaml:1:16: model.init.std: is not read here: it is read only when distribution is normal or uniform "
       "(distribution is xavier); change that or remove this key"},
      {"schedule: {name: constant, warmup: 3}\n",
       "c.yaml:1:28: schedule.warmup: schedule 'constant' has no 'warmup'; 'linear', 'cosine' have: set schedule.name "
       "to "
       "one of them or remove this key"},
      {"schedule: {floor: 3}\n",
       "c.yaml:1:12: schedule.floor: schedule 'constant' (the default) has no 'floor'; 'linear' has: set schedule.name "
       "to "
       "that or remove this key"},
      {"model: {kind: cosine, floor: 3}\n",
       "c.yaml:1:23: model.floor: kind 'cosine' has no 'floor'; 'linear' has: set model.kind to that or remove this "
       "key"},
      {"schedule: {name: lineer, warmup: 0, cycles: 3, zzz: 1}\n",
       "c.yaml:1:18: schedule.name: must be one of constant, linear, cosine; got 'lineer'; did you mean 'linear'?\n"
       "c.yaml:1:34: schedule.warmup: must be at least 1; got 0\n"
       "c.yaml:1:48: schedule.zzz: unknown key; allowed here: name, warmup, floor"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(complaint(c.text) == c.message);
  }
  // The condition of `std` is computed before `distribution` is read.
  CHECK(read("model: {init: {distribution: normal, std: 0.1}}\n").model.init.std == 0.1);
  CHECK(read("schedule: {warmup: 3, name: cosine}\n").schedule.name() == "cosine");
}

TEST_CASE("broken rules are reported where they can be mended, and not for values that could not be read") {
  CHECK(complaint("model:\n  heads: 5\n") == "c.yaml:2:10: model.heads: must divide d_model = 64; it is 5");
  CHECK(complaint("model:\n  d_model: 65\n") ==
        "c.yaml:2:12: model.heads: must divide d_model = 65; it is 4 by default");
  CHECK(complaint("model:\n  d_model: x\n  heads: 5\n") ==
        "c.yaml:2:12: model.d_model: must be a whole number (at least 1); got 'x'");
  CHECK(complaint("groups:\n- factor: 1\n") == "c.yaml:2:3: groups[0].match: is required");
  CHECK(complaint("model: {heads: 0}\n") == "c.yaml:1:16: model.heads: must be at least 1; got 0");
}

TEST_CASE("all problems come at once, in the order of the file, and nothing is changed") {
  const YamlDocument document = YamlDocument::parse(
      "seed: 5\ntitle: first\ntitle: second\nmodel:\n  d_modle: 64\n  heads: 5\n  dropout: 1.5\n"
      "schedule:\n  name: constant\n  warmup: 3\nlimit: none\n",
      "c.yaml");
  SmallOptions options;
  try {
    read_options(document, options);
    FAIL("the document is wrong");
  } catch (const ConfigError& error) {
    CHECK(
        std::string(error.what()) ==
        "c.yaml:3:1: title: duplicate key; it already stands on line 2: remove one of the two\n"
        "c.yaml:5:3: model.d_modle: unknown key; did you mean 'd_model'?\n"
        "c.yaml:6:10: model.heads: must divide d_model = 64; it is 5\n"
        "c.yaml:7:12: model.dropout: must be in [0, 1); got 1.5\n"
        "c.yaml:10:3: schedule.warmup: schedule 'constant' has no 'warmup'; 'linear', 'cosine' have: set schedule.name "
        "to one of them or remove this key\n"
        "c.yaml:11:8: limit: must be a whole number or null (at least 1); got 'none'");
    REQUIRE(error.problems().size() == 6);
    CHECK(error.problems()[1].path == "model.d_modle");
    CHECK(error.problems()[1].origin.line == 5);
  }
  CHECK(options.seed == 1);
}

TEST_CASE("a choice keeps the options it has unless another name is chosen") {
  test::ModelOptions options;
  test::LinearOptions linear;
  linear.warmup = 9;
  options.kind.set<test::Made<test::LinearOptions>>("linear", linear);
  read_options(YamlDocument::parse("{kind: linear, floor: 2}\n", "c.yaml"), options);
  CHECK(write_yaml(options).find("warmup: 9\nfloor: 2\n") != std::string::npos);
  read_options(YamlDocument::parse("{kind: cosine}\n", "c.yaml"), options);
  CHECK(write_yaml(options).find("warmup: 400\ncycles: 0.5\n") != std::string::npos);
}

}  // namespace
}  // namespace surd
