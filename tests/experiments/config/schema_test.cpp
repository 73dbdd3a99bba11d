#include "experiments/config/schema/file_schema.hpp"

#include "experiments/config/raw_yaml.hpp"
#include "layers/attention.hpp"
#include "tests/experiments/config/small_options.hpp"

#include <doctest/doctest.h>

#include <regex>
#include <string>
#include <vector>

namespace surd {
namespace {

using test::SmallOptions;

Schema json(const char* text) { return Schema::parse(text); }

/// The schema without what is written for people.
Schema bare(Schema schema) {
  schema.erase("description");
  schema.erase("default");
  return schema;
}

bool fits(const std::string& text, const Schema& schema) {
  return std::regex_search(text, std::regex(schema.at("pattern").get<std::string>()));
}

TEST_CASE("every key is a property with its type, range, default and meaning") {
  const Schema part = options_schema<SmallOptions>().part;
  std::vector<std::string> keys;
  for (const auto& property : part.at("properties").items()) keys.push_back(property.key());
  CHECK(keys == std::vector<std::string>{"seed", "title", "limit", "clip", "model", "schedule", "groups", "tags"});
  CHECK(part.at("additionalProperties") == false);
  CHECK_FALSE(part.contains("required"));

  const Schema& properties = part.at("properties");
  CHECK(properties.at("seed").at("default") == 1);
  CHECK(properties.at("seed").at("description") == "of all draws");
  CHECK(properties.at("seed").at("minimum") == 0);
  CHECK(properties.at("title").at("type") == json(R"(["string", "number", "boolean"])"));
  CHECK(properties.at("limit").at("type") == json(R"(["integer", "string", "null"])"));
  CHECK(properties.at("limit").at("default").is_null());
  CHECK(properties.at("clip").at("exclusiveMinimum") == 0);
  CHECK(properties.at("tags").at("items").at("type") == json(R"(["string", "number", "boolean"])"));
  const Schema& model = properties.at("model").at("properties");
  CHECK(model.at("dropout").at("minimum") == 0);
  CHECK(model.at("dropout").at("exclusiveMaximum") == 1);
  CHECK(bare(model.at("bias")) == json(R"({"type": "boolean"})"));
  const Schema& schedule = properties.at("schedule").at("properties");
  CHECK(schedule.at("warmup").at("description") == "updates until the full rate (updates)");
  CHECK(schedule.at("name").at("description") ==
        "which one. constant: always one; linear: up and down; cosine: up and round");
}

TEST_CASE("a choice has the keys of the name that is written, and alone those of its default") {
  const OptionsSchema made = options_schema<SmallOptions>();
  const Schema& schedule = made.part.at("properties").at("schedule");
  CHECK(bare(schedule.at("properties").at("name")) == json(R"({"enum": ["constant", "linear", "cosine"]})"));
  CHECK(schedule.at("allOf") == json(R"([
    {"if": {"properties": {"name": {"enum": ["constant"]}}, "required": ["name"]},
     "then": {"properties": {"warmup": false, "floor": false, "cycles": false}}},
    {"if": {"properties": {"name": {"enum": ["linear"]}}, "required": ["name"]},
     "then": {"properties": {"cycles": false}}},
    {"if": {"properties": {"name": {"enum": ["cosine"]}}, "required": ["name"]},
     "then": {"properties": {"floor": false}}}])"));
  CHECK(made.alone.at("properties").at("schedule").at("allOf") == json(R"([
    {"if": {"not": {"required": ["name"]}},
     "then": {"properties": {"warmup": false, "floor": false, "cycles": false}}}])"));
}

TEST_CASE("a key is refused beside a value with which it is not read") {
  const OptionsSchema made = options_schema<SmallOptions>();
  const Schema& init = made.part.at("properties").at("model").at("properties").at("init");
  CHECK(init.at("allOf") == json(R"([
    {"if": {"properties": {"distribution": {"enum": ["xavier"]}}, "required": ["distribution"]},
     "then": {"properties": {"std": false}}}])"));
  CHECK(made.alone.at("properties").at("model").at("properties").at("init").at("allOf") == json(R"([
    {"if": {"not": {"required": ["distribution"]}}, "then": {"properties": {"std": false}}}])"));
  SmallOptions normal;
  normal.model.init.distribution = test::Spread::normal;
  CHECK_FALSE(options_schema(normal).alone.at("properties").at("model").contains("properties"));
}

TEST_CASE("an element of a list has what its rules require, whatever it may lie over") {
  const Schema items = options_schema<SmallOptions>().part.at("properties").at("groups").at("items");
  CHECK(items.at("allOf") == json(R"([{"required": ["match"]}])"));
}

TEST_CASE("a file may build upon another, and is held to its defaults where it does not") {
  const OptionsSchema made = options_schema<SmallOptions>();
  const Schema file = file_schema(made);
  CHECK(file.at("properties").begin().key() == "extends");
  CHECK(file.at("allOf").back().at("if") == json(R"({"not": {"required": ["extends"]}})"));
  CHECK(file.at("allOf").back().at("then") == made.alone);
  const std::string text = schema_text("Small", file);
  CHECK(Schema::parse(text).at("title") == "Small");
  CHECK(Schema::parse(text).at("properties") == file.at("properties"));
  CHECK(text.back() == '\n');
}

TEST_CASE("whole numbers with '_', which YAML 1.2 takes for text, are held to their range") {
  const Schema any = whole_schema({}), small = whole_schema(between(1, 65'536)), digit = whole_schema(between(1, 9));
  for (const char* number : {"1_0", "100_000", "1_2_3", "65_536"}) CHECK(fits(number, any));
  for (const char* number : {"100", "_1", "1_", "1__0", "0_1", "-1_0", "1_0.5", "1_0e3", "a_b", ""})
    CHECK_FALSE(fits(number, any));
  for (const char* number : {"1_0", "9_999", "65_536", "65_535", "64_999", "6_5536"}) CHECK(fits(number, small));
  for (const char* number : {"65_537", "65_600", "66_000", "70_000", "100_000"}) CHECK_FALSE(fits(number, small));
  CHECK_FALSE(fits("1_0", digit));
}

TEST_CASE("numbers with an exponent, which YAML 1.1 may take for text, are taken") {
  for (const char* number : {"1e-4", "1e4", ".5E+3", "2.e1"}) CHECK(fits(number, number_schema(at_least(0))));
  for (const char* number : {"0.5", "-1e-4", "e4", "1e", "one"}) CHECK_FALSE(fits(number, number_schema(at_least(0))));
  CHECK(fits("-1e-4", number_schema({})));
}

/// What a schema says of a text, by the types and the pattern of its last alternative.
bool takes(Word& word, const std::string& text) { return fits(text, word_schema(word).at("anyOf").back()); }

TEST_CASE("factors and projections that are written as words are taken as they are read") {
  Scale scale;
  FixedScale deviation;
  ProjectionBiases biases;
  struct Form {
    const char* text;
    bool scale, deviation;
  };
  for (const Form form :
       {Form{"8 * inv_dim", true, true}, Form{"8*inv_dim", true, true}, Form{"1e-3", true, true},
        Form{" sqrt_dim ", true, true}, Form{"learned", true, false}, Form{"learned  0.5 * inv_sqrt_dim", true, false},
        Form{"-2 * one", true, false}, Form{"sqrt", false, false}, Form{"inv_dim * 8", false, false},
        Form{"8 *", false, false}, Form{"learnedone", false, false}, Form{"", false, false}}) {
    CAPTURE(form.text);
    CHECK(takes(scale, form.text) == form.scale);
    CHECK(Scale().parse(form.text) == form.scale);
    CHECK(takes(deviation, form.text) == form.deviation);
    CHECK(FixedScale().parse(form.text) == form.deviation);
  }
  for (const char* text : {"query", "query value output", " key  query"}) {
    CHECK(takes(biases, text));
    CHECK(ProjectionBiases().parse(text));
  }
  for (const char* text : {"", "queries", "query, value"}) CHECK_FALSE(takes(biases, text));

  CHECK(word_schema(scale).at("anyOf").back().at("type") == json(R"(["string", "number"])"));
  CHECK_FALSE(word_schema(scale).at("anyOf").back().contains("minimum"));
  CHECK(word_schema(deviation).at("anyOf").back().at("minimum") == 0);
  CHECK(word_schema(biases).at("anyOf").back().at("type") == json(R"(["string"])"));
  CHECK(word_schema(biases).at("anyOf").front().at("enum").front() == "true");
  scale = Scale::Rule::inv_dim;
  static_cast<void>(word_schema(scale));
  CHECK(scale.text() == "inv_dim");
}

TEST_CASE("a field that is kept as it was written is what the caller says, or anything") {
  struct Options {
    RawYaml seeds{"whole number or list"}, rest{"anything"};
    void fields(Fields& f) {
      f("seeds", seeds, "n or a list");
      f("rest", rest, "whatever");
    }
  };
  const Schema number = whole_schema({});
  const OptionsSchema made = options_schema<Options>({}, {{"whole number or list", number}});
  CHECK(bare(made.part.at("properties").at("seeds")) == number);
  CHECK(bare(made.part.at("properties").at("rest")).empty());
}

}  // namespace
}  // namespace surd
