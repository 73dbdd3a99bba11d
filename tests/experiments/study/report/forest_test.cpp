#include "experiments/study/report/forest.hpp"

#include "experiments/study/report/forest_drawing.hpp"
#include "tests/experiments/study/report/report_fixture.hpp"
#include "tests/text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <regex>

using surd::test::between;
using surd::test::contains;

TEST_CASE("a row is drawn to a scale of its own") {
  // Percents of the width, of each row of the first screen: the ends of the region, the point, the interval.
  ReportFixture fixture;
  const surd::report::Json rows = surd::report::forest_rows(fixture.study, fixture.analysis);
  const auto number = [&](std::size_t row, const std::string& before) {
    return std::stod(between(rows.at(row).at("drawing"), before, "%"));
  };
  // A ratio is as far from 1 as its inverse: log(0.42) from 0.38 to 1 with 14 % beside.
  const double span = 1.28 * std::log(1 / 0.38) / 100;
  const auto at = [&](double ratio) { return 100 * (0.14 / 1.28) + (std::log(ratio) - std::log(0.38)) / span; };
  CHECK(number(2, "class=\"neutral\" x1=\"") == doctest::Approx(at(1)).epsilon(1e-3));
  CHECK(number(2, "class=\"interval supported\" x1=\"") == doctest::Approx(at(0.38)).epsilon(1e-3));
  CHECK(number(2, "class=\"edge\" x1=\"") == doctest::Approx(at(1 / 1.1)).epsilon(1e-3));
  CHECK(number(2, "<rect class=\"region\" x=\"") == 0);
  CHECK(number(2, "\"/><svg x=\"") == doctest::Approx(at(0.42)).epsilon(1e-3));
  // A difference is drawn on a line: of -0.02 to 0.037, 0 lies after 20 of 57 parts.
  CHECK(number(4, "class=\"neutral\" x1=\"") == doctest::Approx(100 * (0.14 + 20 / 57.0) / 1.28).epsilon(1e-3));
  // Arms with values of their own: the region is 1 tolerance to both sides of 0.
  CHECK(number(5, "<rect class=\"region\" x=\"") > 10);
  // The numbers along a row say where they stand, however close they are.
  surd::Check& slope = fixture.analysis.hypotheses[1].checks[0];
  slope.effect = {0.7071068, {0.7071066, 0.7071069}}, slope.region = surd::Region{0.7071058, 0.7071078, true};
  const std::string close = surd::report::forest_rows(fixture.study, fixture.analysis).at(1).at("drawing");
  CHECK(contains(close, ">0.707106</text>"));
  CHECK(contains(close, ">0.707107</text>"));
  // However wide it is, a row has few numbers.
  for (const double wide : {1.0, 3.0, 4.4, 5.0, 7.0, 8.9}) {
    CAPTURE(wide);
    slope.effect = {0.5 * wide, {0, wide}}, slope.region = surd::Region{0, wide, true};
    const std::string row = surd::report::forest_rows(fixture.study, fixture.analysis).at(1).at("drawing");
    std::size_t numbers = 0;
    for (std::size_t at = 0; (at = row.find("<text", at)) != std::string::npos; ++at) ++numbers;
    CHECK(numbers >= 2);
    CHECK(numbers <= 6);
  }
  // A check of which no region is known is drawn without one.
  slope.region.reset();
  const std::string alone = surd::report::forest_rows(fixture.study, fixture.analysis).at(1).at("drawing");
  CHECK(contains(alone, "class=\"point"));
  CHECK_FALSE(contains(alone, "class=\"region"));
  // What is not known is not drawn.
  for (const surd::report::Json& row : surd::report::forest_rows(fixture.study, ReportFixture(false).analysis))
    CHECK_FALSE(contains(row.at("drawing"), "point"));
}

TEST_CASE("a row of any numbers is drawn, with few numbers along it and all of it within its width") {
  using surd::MetricValue, surd::Region;
  using surd::report::ForestRow;
  const double ulp = 0.3 * 0x1p-52, infinity = surd::statistics::infinity;
  const std::vector<std::vector<double>> all = {
      {0.3, 0.3 + 2 * ulp},    {0.3, 0.3},     {-1.2e308, 1.2e308}, {0, 1e-320},    {0, 5e-324}, {1e-320, 3e-320},
      {-4e-10, 4e-10},         {1e307, 1e308}, {1e-310, 1e308},     {1, 1 + 1e-12}, {7e-300, 1}, {999.9999, 1000.0001},
      {1e15, 1e15 + 0.25, 1.2}};
  const std::regex label("<text x=\"([^%]*)%\"[^>]*>([^<]*)</text>"), percent("x[12]?=\"([^\"]*)%\"");
  for (const std::vector<double>& numbers : all) {
    for (const bool log : {false, true}) {
      CAPTURE(numbers);
      CAPTURE(log);
      ForestRow row;
      row.log = log;
      row.neutral = log ? 1 : 0;
      row.unit = log ? "×" : "";
      const double low = numbers[0], high = numbers[1];
      row.marks.push_back({MetricValue(low), low, high, Region{low, high, true}, surd::Verdict::undecided});
      row.marks.push_back({MetricValue(high), -infinity, high, Region{low, infinity}, surd::Verdict::supported});
      if (numbers.size() > 2) row.neutral.reset();
      for (const bool neutral : {true, false}) {
        if (!neutral) row.neutral.reset();
        const std::string drawing = surd::report::draw(row);
        CHECK_FALSE(contains(drawing, "nan"));
        CHECK_FALSE(contains(drawing, "inf"));
        std::size_t places = 0, labels = 0;
        for (std::sregex_iterator match(drawing.begin(), drawing.end(), percent), end; match != end;
             ++match, ++places) {
          CHECK(std::stod((*match)[1]) >= 0);
          CHECK(std::stod((*match)[1]) <= 100);
        }
        for (std::sregex_iterator match(drawing.begin(), drawing.end(), label), end; match != end; ++match, ++labels) {
          const double at = std::stod((*match)[1]), half = 3.9 * static_cast<double>((*match)[2].length()) / 2;
          const bool within = at - half > -8 && at + half < 108;
          CHECK_MESSAGE((within || contains((*match)[2], log ? "1×" : "0")), (*match)[2].str());
        }
        CHECK(places >= 4);
        CHECK(labels <= 6);
      }
    }
  }
}

TEST_CASE("numbers as a row of the forest writes them") {
  using surd::report::digits_text;
  CHECK(digits_text(0.25349) == "0.253");
  CHECK(digits_text(1234.56) == "1235");
  CHECK(digits_text(-123456.7) == "−123457");
  CHECK(digits_text(1234.56, 6) == "1234.56");
  CHECK(digits_text(1234567) == "1.23e+06");
  CHECK(digits_text(-0.0) == "0");
  CHECK(digits_text(surd::report::nan) == "–");
  // As many as tell two numbers apart, of thousands too.
  ReportFixture fixture;
  surd::Check& slope = fixture.analysis.hypotheses[1].checks[0];
  slope.effect = {1234.5, {1234.25, 1234.75}};
  const surd::report::Json row = surd::report::forest_rows(fixture.study, fixture.analysis).at(1);
  CHECK(row.at("effect") == "1234.5 [1234.2, 1234.8]");
}
