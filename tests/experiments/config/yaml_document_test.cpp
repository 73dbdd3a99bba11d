#include "experiments/config/yaml_document.hpp"

#include "experiments/config/write_options.hpp"
#include "experiments/config/yaml_parser.hpp"
#include "tests/data/temporary_directory.hpp"
#include "tests/experiments/config/config_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace surd {
namespace {

using test::complaint;
using test::read;
using test::SmallOptions;
using test::TemporaryDirectory;

const std::string syntax =
    "; check the indentation, brackets and quotes here and on the line before, and quote a value that contains ': ' or "
    "begins with one of & * ! | > % @ `";
const std::string top_keys = "; allowed here: seed, title, limit, clip, model, schedule, groups";
const std::string open_bracket =
    "a key must be a plain name, not a list or a mapping; is a bracket open here that should be closed?";

TEST_CASE("what is not one plain mapping is refused with its place") {
  struct Case {
    std::string text, message;
  };
  const std::vector<Case> cases = {
      {"", "c.yaml: is empty; a config is a mapping, a 'key: value' a line"},
      {"# only this\n", "c.yaml: is empty; a config is a mapping, a 'key: value' a line"},
      {"- 1\n- 2\n", "c.yaml:1:1: must be a mapping, a 'key: value' a line; got a list"},
      {"seed:1\n", "c.yaml:1:1: must be a mapping, a 'key: value' a line; got 'seed:1' (put a space after the ':')"},
      {"model:\n  heads: 2\n  'heads': 4\n",
       "c.yaml:3:3: model.heads: duplicate key; it already stands on line 2: remove one of the two"},
      {"model: {heads: 2, heads: 4}\n",
       "c.yaml:1:19: model.heads: duplicate key; it already stands on line 1: remove one of the two"},
      {"seed: &s 1\nlimit: *s\n",
       "c.yaml:1:7: seed: anchors (&) and aliases (*) are not read; write the values out, or "
       "share settings with 'extends: FILE'"},
      {"title: *.txt\n", "c.yaml:1:8: title: is not valid YAML: the referenced anchor is not defined" + syntax},
      {"seed: !!int 3\n",
       "c.yaml:1:7: seed: tags (!) are not read; remove it (quotes make a value text)\n"
       "c.yaml:1:7: seed: must be a whole number; got the text \"3\"; remove the quotes"},
      {"title: ! x\n", "c.yaml:1:8: title: tags (!) are not read; remove it (quotes make a value text)"},
      {"seed: 1\n...\nseed: 2\n",
       "c.yaml:3:1: a second document begins here; a config is one: remove the '---' or "
       "'...' and what follows, or make it a file of its own"},
      {"[] []\n", "c.yaml:1:4: this does not belong to what stands before it; check the brackets and quotes here"},
      {"model:\n  heads: 4\n \t\n\t# x\n",
       "c.yaml:3:2: a tab in the indentation; indent with spaces\n"
       "c.yaml:4:1: a tab in the indentation; indent with spaces"},
      {"\xFF\xFEs\0", "c.yaml:1:1: is not UTF-8 (byte 0xFF); save or write it as UTF-8"},
      {"seed: 1\ntitle: \xED\xA0\x80\n", "c.yaml:2:8: is not UTF-8 (byte 0xED); save or write it as UTF-8"},
      {std::string("title: a\0b\n", 11),
       "c.yaml:1:9: a control character (byte 0x00); remove it, or write it as an escape "
       "in double quotes"},
      // yaml-cpp would end the document here, and forget the seed.
      {"title: a\x04\nseed: 2\n",
       "c.yaml:1:9: a control character (byte 0x04); remove it, or write it as an escape in "
       "double quotes"},
      {"title: a\rseed: 2\n",
       "c.yaml:1:9: a control character (byte 0x0D); remove it, or write it as an escape in double "
       "quotes"},
      // yaml-cpp would make all the rest one text.
      {"title: \"abc\nseed: 2\n", "c.yaml:1:8: title: this quote is never closed; close it or remove it"},
      {"seed: 1 # \xC3\xA9\ntitle: 'it''s\nlimit: 2\n",
       "c.yaml:2:8: title: this quote is never closed; close it or remove it"},
      {"title: a: b\n", "c.yaml:1:9: is not valid YAML: illegal map value" + syntax},
      {"seed: 1\n title: b\n", "c.yaml:2:7: is not valid YAML: illegal map value" + syntax},
      {"title: @home\n", "c.yaml:1:8: title: is not valid YAML: unknown token" + syntax},
      {"model: {heads: 4\nseed: 1\n", "c.yaml:2:5: model: is not valid YAML: end of map flow not found" + syntax},
      {"? [a]\n: 1\n", "c.yaml:1:3: " + open_bracket},
      {"~: 1\n", "c.yaml:1:1: a key is missing here: write 'key: value' (quote a key that is called null or ~)"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(complaint(c.text) == c.message);
  }
}

TEST_CASE("files made to exhaust memory or stack are refused at once") {
  CHECK(complaint(std::string(500'000, '[')) == "c.yaml:1:1: " + open_bracket);

  std::string many = "groups: [";
  for (int i = 0; i < 20'000; ++i) many += "1,";
  CHECK(complaint(many + "1]\n") ==
        "c.yaml:1:20004: groups[9997]: has more than 10000 values, which no config needs; is it another kind of file?");

  std::string wrong;
  for (int i = 0; i < 60; ++i) wrong += fmt::format("k{}: 1\n", i);
  const std::string first_fifty = complaint(wrong);
  CHECK(std::count(first_fifty.begin(), first_fifty.end(), '\n') == 50);
  CHECK(first_fifty.substr(first_fifty.rfind('\n')) == "\nand 10 more");
}

TEST_CASE("a message never carries what a terminal would obey") {
  CHECK(complaint("seed: \"\\e[31m\\nx\\x9b\"\n") ==
        "c.yaml:1:7: seed: must be a whole number; got the text \"?[31m\\nx?\"");
  CHECK(complaint("seed: " + std::string(100, 'x')) ==
        "c.yaml:1:7: seed: must be a whole number; got '" + std::string(60, 'x') + "...'");
}

TEST_CASE("ordinary YAML is read") {
  CHECK(read("\xEF\xBB\xBF%YAML 1.2\n---\r\ntitle: 'it''s' # here\r\nseed: 3\r\n...\r\n").title == "it's");
  CHECK(read("title: \"a \\\"b\\\" \\x04\"\n").title == "a \"b\" \x04");
  CHECK(read("title: >\n  two\n  lines\nseed: 4\n").title == "two lines\n");
  CHECK(read("title:\ta # b\n").title == "a");
  CHECK(read("title: a#b\n").title == "a#b");
  CHECK(read("{model: {heads: 2, init: {distribution: normal, std: 0.25}}}\n").model.init.std == 0.25);
  CHECK(read("groups:\n- match: x\n  factor: 3\n- {match: y}\n").groups.at(1).match == "y");
}

TEST_CASE("--set overrides, keeps its origin and makes what is missing") {
  const std::string list = "groups:\n- match: a\n";
  CHECK(read("seed: 2\n", {"seed=3", "seed=5"}).seed == 5);
  CHECK(read("seed: 2\n", {"model.init.distribution=normal", "model.init.std=0.1"}).model.init.std == 0.1);
  CHECK(read("model:\n", {"model.heads=2"}).model.heads == 2);
  CHECK(read(list, {"groups.0.factor=3"}).groups.at(0).factor == 3);
  CHECK(read("seed: 2\n", {"groups=[{match: a}, {match: b}]"}).groups.size() == 2);
  CHECK(read("schedule: {name: linear, warmup: 3}\n", {"schedule={floor: 2}"}).schedule.name() == "linear");
  CHECK(read("seed: 2\n", {"clip=null"}).clip == std::nullopt);
  CHECK(read("seed: 2\n", {"title='it''s'"}).title == "it's");
  CHECK(read("seed: 2\n", {"title=*.txt: a #1"}).title == "*.txt: a #1");
  CHECK(read("seed: 2\n", {"title=a=b"}).title == "a=b");

  struct Case {
    std::string setting, message;
  };
  const std::vector<Case> cases = {
      {"schedule={nam: linear}", "--set schedule={nam: linear}: schedule.nam: unknown key; did you mean 'name'?"},
      {"groups[0].factor=3",
       "--set groups[0].factor=3: has an element of a list in brackets; write its number behind a '.' "
       "(optimizer.groups.0.match) where the file has it, or else the whole list: --set "
       "'optimizer.groups=[{match: \"*.bias\", weight_decay: 0}]'"},
      {"=3", "--set =3: must be PATH=VALUE, for example --set model.d_model=64"},
      {"model..heads=3", "--set model..heads=3: must be PATH=VALUE, for example --set model.d_model=64"},
      {"groups.1.factor=3",
       "--set groups.1.factor=3: 'groups' is a list of 1, numbered from 0; name one of its elements "
       "or write the whole list"},
      {"groups.match=x",
       "--set groups.match=x: 'groups' is a list of 1, numbered from 0; name one of its elements or "
       "write the whole list"},
      {"seed.x=3", "--set seed.x=3: 'seed' is no mapping, it is '2' in c.yaml; set it without what follows its name"},
      {"extends=base", "--set extends=base: can only stand in the file"},
      {"title=[1", "--set title=[1: " + open_bracket},
      {"title=\"a", "--set title=\"a: a quote before this is never closed; close it or remove it"},
      {"title=\xFF", "--set title=?: is not UTF-8 (byte 0xFF); save or write it as UTF-8"},
      {"model.heads=3", "--set model.heads=3: must divide d_model = 64; it is 3"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.setting);
    CHECK(complaint("seed: 2\n" + list, {c.setting}) == c.message);
  }
  CHECK(complaint("sed: 2\n", {"model.hads=1", "seed=x"}) ==
        "c.yaml:1:1: sed: unknown key; did you mean 'seed'?\n"
        "--set model.hads=1: unknown key; did you mean 'heads'?\n"
        "--set seed=x: must be a whole number; got 'x'");
}

class Files : public TemporaryDirectory {
 public:
  Files() { std::filesystem::create_directory(path("presets")); }
  SmallOptions options(const std::string& name, const std::vector<std::string>& settings = {}) const {
    YamlDocument document = YamlDocument::load(path(name), path("presets"));
    for (const std::string& setting : settings) document.set(setting);
    SmallOptions read;
    read_options(document, read);
    return read;
  }
  /// The complaint, with the folder's name left out.
  std::string complaint(const std::string& name, const std::vector<std::string>& settings = {}) const {
    std::string message;
    try {
      options(name, settings);
    } catch (const ConfigError& error) {
      message = error.what();
    }
    const std::string prefix = path() + "/";
    for (std::size_t i = message.find(prefix); i != std::string::npos; i = message.find(prefix))
      message.erase(i, prefix.size());
    return message;
  }
};

TEST_CASE("a file extends a preset or another file") {
  const Files files;
  files.write("presets/base.yaml", "seed: 7\nmodel: {heads: 2, dropout: 0.5}\ngroups: [{match: a}, {match: b}]\n");
  files.write("middle.yaml", "extends: base\nmodel: {dropout: 0.25}\ngroups: [{match: c}]\n");
  files.write("top.yaml", "model:\n  bias: false\nextends: ./middle.yaml\n");
  const SmallOptions options = files.options("top.yaml", {"model.heads=8"});
  CHECK(options.seed == 7);
  CHECK(options.model.heads == 8);
  CHECK(options.model.dropout == 0.25);
  CHECK_FALSE(options.model.bias);
  REQUIRE(options.groups.size() == 1);
  CHECK(options.groups[0].match == "c");

  files.write("presets/wrong.yaml", "seed: x\n");
  files.write("on_wrong.yaml", "extends: wrong\nmodel: {hads: 1}\n");
  CHECK(files.complaint("on_wrong.yaml") ==
        "presets/wrong.yaml:1:7: seed: must be a whole number; got 'x'\n"
        "on_wrong.yaml:2:9: model.hads: unknown key; did you mean 'heads'?");
}

TEST_CASE("another choice drops what belonged to the one it replaces, but only across files") {
  const Files files;
  files.write("presets/base.yaml",
              "model: {kind: linear, warmup: 7, floor: 1, init: {distribution: normal, std: 0.3}}\n");
  files.write("top.yaml", "extends: base\nmodel: {kind: cosine, init: {distribution: xavier}}\n");
  const SmallOptions options = files.options("top.yaml");
  CHECK(options.model.kind.name() == "cosine");
  CHECK(write_yaml(options).find("warmup: 7") != std::string::npos);  // cosine reads it as well
  CHECK(files.options("presets/base.yaml", {"model.kind=constant"}).model.kind.name() == "constant");

  files.write("same.yaml", "extends: base\nmodel: {kind: cosine, floor: 2}\n");
  CHECK(
      files.complaint("same.yaml") ==
      "same.yaml:2:23: model.floor: kind 'cosine' has no 'floor'; 'linear' has: set model.kind to that or remove this "
      "key");
  // The mistake was in the file already.
  files.write("mistake.yaml", "model: {init: {std: 0.1}}\n");
  CHECK(files.complaint("mistake.yaml", {"model.heads=2"}) != "");
}

TEST_CASE("what cannot be read or extended is said") {
  const Files files;
  files.write("copy.yaml", "seed: 1\n");
  files.write("presets/marian.yaml", "seed: 1\n");
  files.write("presets/t5.yml", "seed: 1\n");
  files.write("self.yaml", "extends: self.yaml\n");
  files.write("one.yaml", "extends: two.yaml\n");
  files.write("two.yaml", "seed: 2\nextends: presets/../one.yaml\n");
  files.write("near.yaml", "extends: marain\nsead: 3\n");
  files.write("far.yaml", "extends: copy\n");
  files.write("missing.yaml", "extends: coppy.yaml\n");
  files.write("suffix.yaml", "extends: t5.yml\n");
  files.write("list.yaml", "extends: [marian]\n");
  files.write("inside.yaml", "model:\n  extends: marian\n");
  files.write("broken.yaml", "seed: [\n");
  files.write("on_broken.yaml", "extends: broken.yaml\n");
  struct Case {
    std::string file, message;
  };
  const std::vector<Case> cases = {
      {"self.yaml",
       "self.yaml:1:10: extends: files extend each other in a circle: self.yaml -> self.yaml; remove one "
       "'extends'"},
      {"one.yaml",
       "two.yaml:2:10: extends: files extend each other in a circle: one.yaml -> two.yaml -> one.yaml; remove "
       "one 'extends'"},
      {"near.yaml",
       "near.yaml:1:10: extends: there is no preset 'marain'; did you mean 'marian'? (the name of a file ends "
       "in .yaml)\nnear.yaml:2:1: sead: unknown key; did you mean 'seed'?"},
      {"far.yaml",
       "far.yaml:1:10: extends: there is no preset 'copy'; there are marian, t5 (the name of a file ends in "
       ".yaml)"},
      {"missing.yaml", "missing.yaml:1:10: extends: there is no file 'coppy.yaml'; did you mean 'copy.yaml'?"},
      {"suffix.yaml", "suffix.yaml:1:10: extends: there is no file 't5.yml'; the preset is named 't5', without .yaml"},
      {"list.yaml", "list.yaml:1:10: extends: must be the name of a preset or a file; got a list"},
      {"inside.yaml", "inside.yaml:2:3: model.extends: unknown key; 'extends' stands at the top of a file, not inside"},
      {"on_broken.yaml", "broken.yaml:2:1: seed[0]: is not valid YAML: end of sequence flow not found" + syntax},
  };
  for (const Case& c : cases) {
    CAPTURE(c.file);
    CHECK(files.complaint(c.file) == c.message);
  }
  CHECK_THROWS_WITH_AS(YamlDocument::load("/dev/zero"),
                       "/dev/zero: is larger than 1048576 bytes, which no config needs; is it another kind of file?",
                       ConfigError);
}

}  // namespace
}  // namespace surd
