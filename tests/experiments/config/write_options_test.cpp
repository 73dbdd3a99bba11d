#include "experiments/config/write_options.hpp"

#include "autograd/base/random.hpp"
#include "experiments/config/read_options.hpp"
#include "layers/transformer.hpp"
#include "tests/experiments/config/config_cases.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace surd {
namespace {

using test::SmallOptions;

template <class Options>
Options read_back(const std::string& yaml) {
  CAPTURE(yaml);
  Options options;
  REQUIRE_NOTHROW(read_options(YamlDocument::parse(yaml, "c.yaml"), options));
  return options;
}

TEST_CASE("the options come out as a config of all that is read") {
  SmallOptions options =
      test::read("groups: [{match: a b}, {match: '*'}]\nschedule: {name: linear}\ntags: [b, a, 'c, d']\n");
  CHECK(write_yaml(options) ==
        "seed: 1\n"
        "title: a run\n"
        "limit: null\n"
        "clip: 1\n"
        "model:\n"
        "  d_model: 64\n"
        "  heads: 4\n"
        "  dropout: 0\n"
        "  bias: true\n"
        "  init:\n"
        "    distribution: xavier\n"
        "  kind: linear\n"
        "  warmup: 400\n"
        "  floor: 0\n"
        "schedule:\n"
        "  name: linear\n"
        "  warmup: 400\n"
        "  floor: 0\n"
        "groups:\n"
        "  - match: a b\n"
        "    factor: 1\n"
        "  - match: \"*\"\n"
        "    factor: 1\n"
        "tags: [b, a, \"c, d\"]\n");
  CHECK(write_yaml(SmallOptions()).find("\ntags: []\n") != std::string::npos);
}

TEST_CASE("with help, every key has its comment, and it is the same config") {
  SmallOptions options = test::read("groups: [{match: a}, {match: b}]\n");
  const std::string text = write_yaml(options, WithHelp::yes);
  CHECK(text.substr(0, text.find("limit")) ==
        "# of all draws\nseed: 1\n# what it is called\ntitle: a run\n# largest number of pairs\n");
  CHECK(text.find("  # updates until the full rate (updates)\n  warmup: 400\n") != std::string::npos);
  CHECK(text.find("schedule:\n  # one of constant, linear, cosine\n  name: constant\n") != std::string::npos);
  CHECK(write_yaml(read_back<SmallOptions>(text)) == write_yaml(options));

  const std::string transformer = write_yaml(TransformerOptions(), WithHelp::yes);
  for (std::size_t i = 0; i < transformer.size();) {
    const std::size_t end = transformer.find('\n', i);
    CHECK(end - i <= 100);
    i = end + 1;
  }
  CHECK(write_yaml(read_back<TransformerOptions>(transformer)) == write_yaml(TransformerOptions()));
}

TEST_CASE("numbers come back to the bit") {
  const random::Stream stream(1, "numbers", "write_options_test", 0);
  std::size_t different = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    test::StartOptions options;
    options.distribution = test::Spread::normal;
    options.std = std::exp(20 * stream.normal(i));
    REQUIRE(is_computable(options.std));
    const double back = read_back<test::StartOptions>(write_yaml(options)).std;
    different += std::memcmp(&back, &options.std, sizeof back) != 0 ? 1u : 0u;
  }
  CHECK(different == 0);
  SmallOptions options;
  for (const double value : {0.1, 1e-5, 1.0 / 3, 1.2e-38, 3.4e38, 1e22, 123456789012345680.0}) {
    options.clip = value;
    CHECK(read_back<SmallOptions>(write_yaml(options)).clip == value);
  }
  options.seed = std::numeric_limits<std::size_t>::max();
  options.clip = std::nullopt;
  CHECK(read_back<SmallOptions>(write_yaml(options)).seed == options.seed);
  CHECK(read_back<SmallOptions>(write_yaml(options)).clip == std::nullopt);
  options.clip = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(write_yaml(options), "write_yaml: clip must be finite; got inf", Error);
}

TEST_CASE("any text comes back") {
  const std::vector<std::string> texts = {
      "",        "null",  "~",    "true",   "64",       "a: b",    "a #b",   "#a",       "- a", "-",
      "*",       "&a",    "!a",   "@a",     "'",        "\"",      "it's",   " a",       "a ",  "a\nb",
      "\n",      "a\tb",  "\t",   "[",      "{a}",      "a,b",     "? a",    "%a",       "`",   "|",
      ">",       "a\\nb", "\x01", "\x7f",   "\u00e9 ü", "漢字",    "<<",     "---",      "...", "=",
      "a\r\n",   ":",     "a:",   "\u0085", "\u2028",   "\ufeffx", "NULL",   "\x1b[31m", "😀",   "key: v",
      "extends", "1e5",   "0x10", ".inf",   "~a",       "/x/*.y",  "a'b\"c", "\\",
  };
  for (const std::string& text : texts) {
    SmallOptions options;
    options.title = text;
    CHECK(read_back<SmallOptions>(write_yaml(options)).title == text);
  }
  SmallOptions options;
  options.tags = texts;
  CHECK(read_back<SmallOptions>(write_yaml(options)).tags == texts);
}

TEST_CASE("a model's options survive writing and reading") {
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"d_model=96", "heads=6", "dropout=0.1", "norm.placement=post", "norm.kind=rms_norm", "norm.epsilon=1e-06"},
      {"embedding.tie=none", "embedding.output_init.distribution=uniform", "embedding.output_init.std=0.07",
       "embedding.scale=learned 8 * inv_dim", "embedding.logit_scale=inv_sqrt_dim"},
      {"embedding.init={distribution: normal, std: 0.02}", "positions.kind=learned", "positions.init.std=one"},
      {"positions={kind: sinusoidal, centred: true, centred_length: 20, layout: sin_then_cos, scale: 0.1}",
       "attention.scale=inv_dim", "attention.init={distribution: xavier_uniform, gain: 0.70710678118654757}"},
      {"positions.kind=none", "feed_forward.activation=gelu", "feed_forward.init.distribution=unit_rows"},
  };
  for (const auto& settings : variants) {
    YamlDocument document = YamlDocument::parse("{}", "c.yaml");
    for (const std::string& setting : settings) document.set(setting);
    TransformerOptions options;
    read_options(document, options);
    const std::string written = write_yaml(options);
    CAPTURE(written);
    const auto again = read_back<TransformerOptions>(written);
    CHECK(write_yaml(again) == written);
    for (const std::string& setting : settings) {
      const std::string value = setting.substr(setting.find('=') + 1);
      if (value[0] != '{') CHECK(written.find(": " + value + "\n") != std::string::npos);
    }
    CHECK(again.d_model == options.d_model);
    CHECK(again.norm.placement == options.norm.placement);
    CHECK(again.embedding.scale.text() == options.embedding.scale.text());
    CHECK(again.positions.name() == options.positions.name());
  }
}

}  // namespace
}  // namespace surd
