#include "layers/scale.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace surd {
namespace {

Scale parsed(const std::string& text) {
  Scale scale;
  CAPTURE(text);
  CHECK(scale.parse(text));
  return scale;
}

TEST_CASE("a scale's value follows its rule") {
  CHECK(Scale().value(64) == 1);
  CHECK(Scale(Scale::Rule::one).value(64) == 1);
  CHECK(Scale(Scale::Rule::sqrt_dim).value(64) == 8);
  CHECK(Scale(Scale::Rule::inv_sqrt_dim).value(64) == 0.125);
  CHECK(Scale(Scale::Rule::inv_dim).value(64) == 1.0 / 64);
  CHECK(Scale(Scale::Rule::inv_dim, 8).value(64) == 0.125);
  CHECK(Scale(Scale::Rule::sqrt_dim, 0.5).value(64) == 4);
  CHECK(Scale(Scale::Rule::inv_sqrt_dim, 3).value(64) == 0.375);
  CHECK(Scale::constant(0.02).value(64) == 0.02);
  CHECK(Scale::constant(0.02).value(1) == 0.02);
  CHECK(Scale(Scale::Rule::sqrt_dim).value(512) == doctest::Approx(22.627416997969522).epsilon(1e-15));
  CHECK_FALSE(Scale(Scale::Rule::sqrt_dim).learned());
  CHECK(Scale(Scale::Rule::sqrt_dim, 1, true).learned());
}

TEST_CASE("a scale is read from its text") {
  CHECK(parsed("one").value(16) == 1);
  CHECK(parsed("sqrt_dim").value(16) == 4);
  CHECK(parsed("inv_sqrt_dim").value(16) == 0.25);
  CHECK(parsed("inv_dim").value(16) == 1.0 / 16);
  CHECK(parsed("0.02").value(16) == 0.02);
  CHECK(parsed("-3").value(16) == -3);
  CHECK(parsed("1e-3").value(16) == 1e-3);
  CHECK(parsed("8 * inv_dim").value(16) == 0.5);
  CHECK(parsed("8*inv_dim").value(16) == 0.5);
  CHECK(parsed("  0.5  *  sqrt_dim ").value(16) == 2);
  CHECK(parsed("3 * one").value(16) == 3);
  CHECK(parsed("learned").value(16) == 1);
  CHECK(parsed("learned sqrt_dim").value(16) == 4);
  CHECK(parsed("learned 0.5").value(16) == 0.5);
  CHECK(parsed("learned  8 * inv_dim").value(16) == 0.5);
  for (const char* text : {"learned", "learned sqrt_dim", "learned 0.5", "learned 8 * inv_dim"})
    CHECK(parsed(text).learned());
  for (const char* text : {"one", "sqrt_dim", "0.5", "8 * inv_dim"}) CHECK_FALSE(parsed(text).learned());
}

TEST_CASE("a scale's text says the same when it is read again") {
  for (const char* text : {"one", "sqrt_dim", "inv_sqrt_dim", "inv_dim", "0.02", "-3", "1e-30", "0.1", "8 * inv_dim",
                           "0.3333333333333333 * inv_sqrt_dim", "learned one", "learned sqrt_dim", "learned 0.5",
                           "learned 8 * inv_dim", "0"})
    CHECK(parsed(text).text() == text);
  CHECK(parsed("1 * sqrt_dim").text() == "sqrt_dim");
  CHECK(parsed("1").text() == "one");
  CHECK(parsed("learned").text() == "learned one");
  for (const double gain : {1.0 / 3, 0.1 + 0.2, 1e-30, 123456789.123456789}) {
    for (const auto rule : {Scale::Rule::one, Scale::Rule::sqrt_dim, Scale::Rule::inv_sqrt_dim, Scale::Rule::inv_dim}) {
      for (const bool learned : {false, true}) {
        const Scale scale(rule, gain, learned);
        const Scale again = parsed(scale.text());
        CHECK(again.value(48) == scale.value(48));  // to the last bit
        CHECK(again.value(7) == scale.value(7));
        CHECK(again.learned() == learned);
      }
    }
  }
}

TEST_CASE("what is no scale is refused and changes nothing") {
  for (const char* text : {"",
                           " ",
                           "sqrt",
                           "sqrt_dims",
                           "SQRT_DIM",
                           "2 sqrt_dim",
                           "sqrt_dim * 2",
                           "* sqrt_dim",
                           "2 *",
                           "2 * 3",
                           "two * sqrt_dim",
                           "inf",
                           "nan",
                           "1e999",
                           "0.5x",
                           "0x10",
                           "learned learned",
                           "learned nothing",
                           "learnedone",
                           "2 * learned sqrt_dim",
                           "2 * 3 * sqrt_dim",
                           "1,5"}) {
    CAPTURE(text);
    Scale scale(Scale::Rule::inv_dim, 8);
    CHECK_FALSE(scale.parse(text));
    CHECK(scale.text() == "8 * inv_dim");
  }
}

TEST_CASE("a standard deviation is a scale that is neither negative nor learned") {
  for (const char* text : {"0", "0.02", "one", "inv_sqrt_dim", "0.5 * sqrt_dim"}) {
    FixedScale deviation;
    CAPTURE(text);
    CHECK(deviation.parse(text));
    CHECK(deviation.text() == text);
  }
  for (const char* text : {"-0.02", "-1 * sqrt_dim", "learned", "learned 0.02", "normal"}) {
    FixedScale deviation(Scale::Rule::inv_dim, 8);
    CAPTURE(text);
    CHECK_FALSE(deviation.parse(text));
    CHECK(deviation.text() == "8 * inv_dim");
  }
}

TEST_CASE("a scale describes itself with the resolved value") {
  CHECK(Scale(Scale::Rule::sqrt_dim).describe(64) == "x8 = sqrt(64)");
  CHECK(Scale(Scale::Rule::inv_sqrt_dim).describe(16) == "x0.25 = 1/sqrt(16)");
  CHECK(Scale(Scale::Rule::inv_dim).describe(16) == "x0.0625 = 1/16");
  CHECK(Scale(Scale::Rule::inv_dim, 8).describe(64) == "x0.125 = 8/64");
  CHECK(Scale(Scale::Rule::sqrt_dim, 2).describe(64) == "x16 = 2 sqrt(64)");
  CHECK(Scale(Scale::Rule::sqrt_dim).describe(512) == "x22.63 = sqrt(512)");
  CHECK(Scale().describe(64) == "x1");
  CHECK(Scale::constant(0.02).describe(64) == "x0.02");
  CHECK(Scale(Scale::Rule::sqrt_dim, 1, true).describe(64) == "x8 = sqrt(64), learned");
}

TEST_CASE("a scale names its words for suggestions") {
  const Scale scale;
  CHECK(scale.choices() == std::vector<std::string>{"one", "sqrt_dim", "inv_sqrt_dim", "inv_dim", "learned"});
  for (const std::string& word : scale.choices()) {
    Scale other;
    CHECK(other.parse(word));
    CHECK(scale.allowed().find(word) != std::string::npos);
  }
}

}  // namespace
}  // namespace surd
