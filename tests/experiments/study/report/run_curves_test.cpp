#include "experiments/study/report/run_curves.hpp"

#include "tests/text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <regex>
#include <sstream>
#include <utility>

using surd::test::contains;

namespace {

/// With one loss at every update: its validation loss, a training loss one above it, a gradient of twice its norm.
surd::NamedMetrics level_run(const std::string& name, const std::string& scale, double loss, std::uint64_t last = 40) {
  surd::Metrics metrics;
  for (std::uint64_t update = 10; update <= last; update += 10) {
    metrics.updates.push_back({update, 0, loss + 1, 2 * loss, 1e-3, 8, 8});
    surd::EvaluationRecord record;
    record.update = update;
    record.loss = loss;
    record.token_accuracy = 0.5;
    metrics.evaluations.push_back(record);
  }
  return {name, std::move(metrics), {{"model.embedding.scale", scale}}};
}

/// Two of one kind, of which one ends earlier, and one of another.
std::vector<surd::NamedMetrics> level_runs() {
  return {level_run("a1", "one", 1), level_run("b&c", "sqrt_dim", 4), level_run("a2", "one", 3, 30)};
}

nlohmann::json charts_drawn(const std::vector<surd::NamedMetrics>& runs, bool log_loss) {
  const std::string page = surd::curves_page(runs, "", log_loss);
  std::map<std::string, nlohmann::json> by_id;
  const auto data = nlohmann::json::parse(
      surd::test::between(page, "<script type=\"application/json\" id=\"study-data\">", "</script>"));
  for (const auto& chart : data["charts"]) by_id[chart["id"].get<std::string>()] = chart;
  return by_id;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace

TEST_CASE("runs of equal settings are drawn as their mean in a band, others as a line each") {
  const nlohmann::json charts = charts_drawn(level_runs(), false);
  CHECK(charts.size() == 4);  // no sequences, BLEU or chrF2 were measured
  const nlohmann::json& series = charts["loss"]["panels"][0]["series"];
  REQUIRE(series.size() == 4);
  const nlohmann::json& mean = series[0];
  CHECK(mean["name"] == "a1 (mean of 2 runs)");
  CHECK(mean["x"] == nlohmann::json{10, 20, 30});  // then a2 has ended, and a1 alone is no mean of two
  CHECK(mean["y"] == nlohmann::json{2, 2, 2});
  CHECK(mean["low"] == nlohmann::json{1, 1, 1});
  CHECK(mean["high"] == nlohmann::json{3, 3, 3});
  CHECK(series[1]["name"] == "b&c");
  CHECK(series[1]["low"] == nlohmann::json{nullptr, nullptr, nullptr, nullptr});
  CHECK(series[1]["style"] != mean["style"]);
  CHECK(series[2]["name"] == "a1 (mean of 2 runs), training");
  CHECK(series[2]["kind"] == "seeds");
  CHECK(series[2]["style"] == mean["style"]);
  CHECK(series[2]["y"] == nlohmann::json{3, 3, 3});
  CHECK_FALSE(series[2].contains("low"));
  CHECK(charts["gradient"]["panels"][0]["series"][0]["y"] == nlohmann::json{4, 4, 4});
  CHECK(charts["rate"]["panels"][0]["series"][1]["y"] == nlohmann::json{0.001, 0.001, 0.001, 0.001});

  const std::string page = surd::curves_page(level_runs(), "", false);
  CHECK(contains(page, "<td>2 [1, 3]</td>"));
  CHECK(contains(page, "is their mean, as far as all of them have come; the band runs from the least to the greatest"));
  CHECK_FALSE(contains(surd::curves_page({level_run("a1", "one", 1)}, "", false), "the band runs"));
}

TEST_CASE("a run that has logged nothing of a kind does not end the mean of the others") {
  std::vector<surd::NamedMetrics> runs = {level_run("a1", "one", 1), level_run("a2", "one", 3),
                                          level_run("a3", "one", 5)};
  runs[2].metrics.evaluations.clear();
  nlohmann::json charts = charts_drawn(runs, false);
  CHECK(charts["loss"]["panels"][0]["series"][0]["name"] == "a1 (mean of 2 runs)");
  CHECK(charts["loss"]["panels"][0]["series"][0]["y"] == nlohmann::json{2, 2, 2, 2});
  CHECK(charts["gradient"]["panels"][0]["series"][0]["name"] == "a1 (mean of 3 runs)");
}

TEST_CASE("losses have a logarithmic axis where that is asked for, or where they span much") {
  const auto is_log = [](const nlohmann::json& charts, const char* id) { return charts[id]["y"]["log"].get<bool>(); };
  CHECK_FALSE(is_log(charts_drawn(level_runs(), false), "loss"));
  CHECK(is_log(charts_drawn(level_runs(), true), "loss"));
  CHECK_FALSE(is_log(charts_drawn(level_runs(), true), "tokens"));
  CHECK(is_log(charts_drawn({level_run("a", "one", 4), level_run("b", "two", 0.1)}, false), "loss"));
}

TEST_CASE("the picture has a panel a chart, a band a mean, and a legend") {
  const std::string svg = surd::curves_picture(level_runs(), false);
  CHECK(svg.rfind("<svg xmlns=", 0) == 0);
  CHECK(svg.substr(svg.size() - 7) == "</svg>\n");
  for (const char* bad : {"nan", "inf"}) CHECK_FALSE(contains(svg, bad));
  for (const char* title :
       {"Loss (nats a token)", "Token accuracy (share)", "Gradient norm before clipping", "Learning rate"})
    CHECK(count_of(svg, std::string("font-weight=\"bold\">") + title + "</text>") == 1);
  CHECK(count_of(svg, "<polygon") == 4);
  CHECK(count_of(svg, ">a1 (mean of 2 runs)</text>") == 1);
  CHECK(count_of(svg, ">b&amp;c</text>") == 1);
  CHECK(contains(svg, "<title>Learning curves of a1, b&amp;c, a2</title>"));
  CHECK(contains(svg, ">update</text>"));
  CHECK_FALSE(contains(svg, ", training"));

  // A larger loss stands higher, and all of a band stands within its panel.
  std::map<std::string, double> first_y;  // by colour, in the first panel
  const std::regex strong(
      "<path d=\"M([0-9.]+) ([0-9.]+)h0[^\"]*\" fill=\"none\" stroke=\"([^\"]+)\" "
      "stroke-dasharray=\"[^\"]+\" stroke-width=\"2\"");
  for (std::sregex_iterator match(svg.begin(), svg.end(), strong), end; match != end; ++match)
    first_y.emplace((*match)[3].str(), std::stod((*match)[2].str()));
  REQUIRE(first_y.size() == 2);
  CHECK(first_y.at("#D55E00") < first_y.at("#0072B2"));
  const std::regex band("<polygon points=\"([^\"]*)\"");
  for (std::sregex_iterator match(svg.begin(), svg.end(), band), end; match != end; ++match) {
    std::istringstream points((*match)[1].str());
    std::size_t count = 0;
    char comma = ' ';
    for (double x = 0, y = 0; points >> x >> comma >> y; ++count) {
      CHECK(x >= 62);
      CHECK(x <= 62 + 330);
      CHECK(y >= 34);
      CHECK(y <= 34 + 190);
    }
    CHECK(count == 6);  // three updates that both runs have, there and back
  }
  CHECK(surd::curves_picture(level_runs(), true) != svg);
  CHECK(surd::curves_picture(level_runs(), false) == svg);
}
