#include "tests/experiments/study/report/report_fixture.hpp"

#include "experiments/study/report/charts/chart.hpp"
#include "experiments/study/report/charts/study_runs.hpp"
#include "experiments/study/report/forest.hpp"
#include "tests/text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <regex>

using surd::test::between;
using surd::test::contains;

namespace {

/// The page before its scripts.
std::string markup(const std::string& html) { return html.substr(0, html.find("<script")); }

nlohmann::json chart_json(const std::string& html) {
  return nlohmann::json::parse(between(html, "<script type=\"application/json\" id=\"study-data\">", "</script>"));
}

}  // namespace

TEST_CASE("a report escapes what a study says") {
  ReportFixture fixture;
  const std::string html = fixture.html(), page = markup(html);
  CHECK(contains(page, "<title>Does &lt;b&gt;sqrt(d)&lt;/b&gt; &amp; &quot;1/sqrt(d_k)&quot; matter?</title>"));
  CHECK(contains(page, "alpha=&lt;one&gt;, d_k=4"));
  CHECK(contains(page, "&lt;attention&gt; asked for 3 GiB &amp; more"));
  for (const char* raw : {"<b>", "<one>", "<attention>", "<sqrt(d)>", "<!--"}) CHECK_FALSE(contains(page, raw));
  const nlohmann::json data = chart_json(html);
  CHECK(data.at("runs").at(20).at("arm") == "alpha=<one>, d_k=4");
}

TEST_CASE("a report shows what was changed after the study was written, also where it states nothing") {
  ReportFixture fixture(false);
  CHECK_FALSE(contains(fixture.html(), "Changed since"));
  fixture.study.amendments = {{"2026-11-20", "A <b>second</b> task", "the losses of copy"}};
  CHECK(contains(fixture.html(),
                 "<h2>Changed since it was written</h2>\n<dl><dt>2026-11-20</dt><dd>A &lt;b&gt;second&lt;/b&gt; task "
                 "<span class=\"note\">Known by then: the losses of copy</span></dd>"));
  fixture.study.hypotheses.clear();
  fixture.analysis.hypotheses.clear();
  fixture.analysis.claims.clear();
  CHECK(contains(fixture.html(), "Known by then: the losses of copy"));
}

TEST_CASE("a report loads nothing") {
  ReportFixture fixture;
  fixture.chart_library.clear();
  const std::string html = fixture.html();
  CHECK_FALSE(contains(html, "http://"));
  CHECK_FALSE(contains(html, "https://"));
  const std::regex reference("(?:src|href)=\"([^\"]*)\"");
  std::size_t references = 0;
  for (std::sregex_iterator match(html.begin(), html.end(), reference), end; match != end; ++match, ++references) {
    const std::string target = (*match)[1];
    CHECK_MESSAGE((target[0] == '#' || target == "data:,"), target);
  }
  CHECK(references > 8);
  CHECK(contains(html, "default-src 'none'"));
}

TEST_CASE("without its chart library a report says so and keeps its tables") {
  ReportFixture fixture;
  const std::string complete = fixture.html();
  fixture.chart_library = "/nowhere/plotly.min.js";
  const std::string tables = fixture.html();
  CHECK(contains(tables, "Tables only:"));
  CHECK_FALSE(contains(tables, "Plotly.react"));
  CHECK(tables.size() < 1'000'000);
  CHECK(chart_json(tables) == chart_json(complete));
  CHECK_FALSE(contains(markup(complete), "Tables only:") != surd::chart_library().empty());
}

TEST_CASE("each chart has a heading, a table and a sentence of its own numbers") {
  const std::string html = ReportFixture().html();
  const nlohmann::json data = chart_json(html);
  REQUIRE(data.at("charts").size() >= 12);
  for (const auto& chart : data.at("charts")) {
    const std::string id = chart.at("id");
    CAPTURE(id);
    const std::string figure = between(html, "<figure id=\"" + id + "\"", "</figure>");
    CHECK(contains(figure, "<h3 id=\"" + id + "-title\">"));
    CHECK(contains(figure, "<details><summary>Table"));
    CHECK(contains(figure, "<td>"));
    const std::string alt = between(figure, "<p id=\"" + id + "-alt\">", "</p>");
    CHECK(std::regex_search(alt, std::regex("[0-9]")));
  }
}

TEST_CASE("the page shows the effect, the seeds, the tuning and p of each answer, and keeps runs that did not finish") {
  ReportFixture fixture;
  const std::string page = markup(fixture.html());
  const std::string card = between(page, "<article class=\"claim\" id=\"claim-1\">", "</article>");
  const surd::Check& check = fixture.analysis.hypotheses[0].checks[0];
  CHECK(contains(card, "badge supported"));
  CHECK(contains(card, surd::report::number_text(check.effect)));
  CHECK(contains(card, "10 seeds"));
  CHECK(contains(card, "rate (4 values) on 3 seeds"));
  CHECK(contains(card, "p = 0.0039 after Holm"));
  const std::string unfinished = between(page, "<section id=\"unfinished\">", "</section>");
  CHECK(contains(unfinished, "diverged"));
  CHECK(contains(unfinished, "update 251: loss is nan"));
  CHECK(contains(unfinished, "failed"));
}

TEST_CASE("the first screen has the question, the answer in a sentence and a row a hypothesis") {
  ReportFixture fixture;
  const std::string page = markup(fixture.html());
  CHECK(contains(page, "<h1>Do the two factors change what a small Transformer learns, &amp; how fast?</h1>"));
  const std::string first = between(page, "<section id=\"answer\"", "</section>");
  CHECK(contains(first, "<p class=\"answer\">3 of 6 statements hold; 2 are refuted; one is undecided.</p>"));
  CHECK(contains(first, "<a href=\"#claim-9\">Claim 9 is undecided: “For large d_k"));
  std::vector<std::string> rows;
  for (std::size_t at = 0; (at = first.find("<li>", at)) != std::string::npos; ++at)
    rows.push_back(between(first.substr(at), "<li>", "</li>"));
  REQUIRE(rows.size() == 6);
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(contains(rows[i], fmt::format("href=\"#hypothesis-{}\"", i + 1)));

  CHECK(contains(rows[0], "expected below 0"));
  CHECK(contains(rows[0], "10 seeds, p = 0.0039 after Holm"));
  CHECK(contains(rows[1], "expected −0.5 ± 0.03"));
  CHECK(contains(rows[1], "−0.52 [−0.56, −0.48]"));
  CHECK(contains(rows[1], "class=\"point undecided\""));
  CHECK(contains(rows[2], "0.42 times [0.38, 0.47]"));
  CHECK(contains(rows[2], "expected below 0.9091 times"));
  CHECK(contains(rows[2], ">1×</text>"));
  CHECK(contains(rows[3], "≥ 1.6 times [1.2, ∞]"));
  CHECK(contains(rows[3], "class=\"arrow supported\""));
  CHECK(contains(rows[4], "expected between −0.02 and 0.02"));
  CHECK(contains(rows[4], "<span aria-hidden=\"true\">✗</span> refuted"));
  CHECK(contains(rows[5], "holds in 2 of 4 cases"));
  CHECK(contains(rows[5], "furthest off: alpha=&lt;one&gt;, d_k=4, 0.465 [0.46, 0.47]; expected 0.5 ± 0.025"));
  CHECK(contains(rows[5], "how far each is from its own expected value, in tolerances"));
  std::size_t points = 0;
  for (std::size_t at = 0; (at = rows[5].find("class=\"point", at)) != std::string::npos; ++at) ++points;
  CHECK(points == 4);
}

TEST_CASE("answers in words") {
  surd::Analysis analysis;
  using surd::report::answer;
  const auto verdicts = [&](std::initializer_list<surd::Verdict> list) {
    analysis.hypotheses.clear();
    for (const surd::Verdict verdict : list) analysis.hypotheses.push_back({0, verdict, "", {}, {}, {}});
    return answer(analysis);
  };
  using surd::Verdict;
  CHECK(verdicts({}) == "The study states nothing in advance; it shows what its arms do.");
  CHECK(verdicts({Verdict::supported}) == "The statement holds.");
  CHECK(verdicts({Verdict::refuted}) == "The statement is refuted.");
  CHECK(verdicts({Verdict::supported, Verdict::supported}) == "Both statements hold.");
  analysis.claims = {{12, Verdict::supported, ""}, {13, Verdict::refuted, ""}, {14, Verdict::refuted, ""}};
  CHECK(verdicts({Verdict::supported, Verdict::supported}) == "Both statements hold, which refutes claims 13 and 14.");
  analysis.claims.clear();
  CHECK(verdicts({Verdict::undecided, Verdict::undecided}) == "Both statements are undecided.");
  CHECK(verdicts({Verdict::supported, Verdict::refuted, Verdict::supported, Verdict::undecided}) ==
        "2 of 4 statements hold; one is refuted; one is undecided.");
  CHECK(verdicts({Verdict::refuted, Verdict::undecided, Verdict::undecided}) ==
        "None of 3 statements holds; one is refuted; 2 are undecided.");
  analysis.runs = 3, analysis.missing = 1;
  CHECK(verdicts({Verdict::supported, Verdict::refuted}) == "So far one of 2 statements holds; one is refuted.");
  analysis.missing = 3;
  CHECK(verdicts({Verdict::supported}) == "No run has ended yet.");
}

TEST_CASE("the page has no empty section, and no chart of divergences where there are none") {
  ReportFixture fixture;
  CHECK(contains(markup(fixture.html()), "id=\"divergence-section\""));
  for (surd::Endings& endings : fixture.analysis.endings) endings.diverged = 0;
  fixture.study.tuning.reset();
  fixture.analysis.factor_effects.clear();
  const std::string page = markup(fixture.html());
  for (const char* empty : {"divergence", "tuning", "factors"}) {
    CAPTURE(empty);
    CHECK_FALSE(contains(page, fmt::format("{}-section", empty)));
  }
}

TEST_CASE("an accuracy has a linear axis, a norm of gradients a line a regime") {
  const nlohmann::json data = chart_json(ReportFixture().html());
  std::size_t accuracies = 0, norms = 0;
  for (const auto& chart : data.at("charts")) {
    const std::string id = chart.at("id");
    CAPTURE(id);
    if (contains(id, "accuracy")) {
      ++accuracies;
      CHECK(chart.at("y").at("log") == false);
    }
    if (id != "gradient-norm-shared" && id != "gradient-norm-tuned") continue;
    ++norms;
    CHECK(chart.at("panels").at(0).at("series").size() == 8);  // the seeds and the line of each arm
  }
  CHECK(accuracies >= 4);
  CHECK(norms == 2);
}

TEST_CASE("of very many evaluations a curve shows some, from the first on") {
  ReportFixture fixture;
  constexpr std::size_t many = 1000;
  for (auto& [id, result] : fixture.results) {
    auto& evaluations = result.metrics.evaluations;
    for (std::size_t i = evaluations.size(); i > 0 && i < many; ++i) {
      evaluations.push_back(evaluations.back());
      evaluations.back().update = 40 * i;
    }
  }
  const std::string page = fixture.html();
  CHECK(contains(page, " Of 1000 evaluations one in 3 is shown."));
  const nlohmann::json data = chart_json(page);
  std::size_t charts = 0;
  for (const auto& chart : data.at("charts")) {
    if (chart.at("id") != "loss-shared") continue;
    ++charts;
    const auto& updates = chart.at("panels").at(0).at("series").at(0).at("x");
    CHECK(updates.size() == 10 * (334 + 1));  // of ten seeds, each with a gap behind
    CHECK(updates.at(1) == 120);
  }
  CHECK(charts == 1);
}

TEST_CASE("arms are shown with what they set, and values of seeds whole") {
  const std::string page = markup(ReportFixture().html());
  const std::string arms = between(page, "<section id=\"arms\">", "</section>");
  CHECK(contains(arms, "model.embedding.scale=sqrt_dim; model.d_model=16"));
  const std::string check = between(page, "What was measured: The loss ends lower", "</table>");
  CHECK(std::regex_search(check, std::regex("<td>1: -0\\.[0-9]+; 2: .*; 9: -0\\.[0-9]+; 10: -0\\.[0-9]+</td>")));
}

TEST_CASE("theory is drawn where a hypothesis expects a number") {
  const nlohmann::json data = chart_json(ReportFixture().html());
  std::size_t lines = 0;
  for (const auto& chart : data.at("charts")) {
    if (chart.at("id") != "metric-score_std-d_k-shared") continue;
    CHECK(chart.at("x").at("log") == true);
    CHECK(chart.at("y").at("log") == true);
    for (const auto& series : chart.at("panels").at(0).at("series")) {
      if (series.at("kind") != "theory" || !contains(series.at("name"), "-1/2,")) continue;
      ++lines;
      const double ratio = series.at("y").at(1).get<double>() / series.at("y").at(0).get<double>();
      CHECK(ratio == doctest::Approx(0.25).epsilon(1e-4));  // (64 / 4)^-1/2
    }
  }
  CHECK(lines == 1);
}

TEST_CASE("equal input gives equal bytes") { CHECK(ReportFixture().html() == ReportFixture().html()); }

TEST_CASE("a report of a study without a finished run") {
  ReportFixture fixture(false);
  const std::string html = fixture.html();
  CHECK(contains(html, "<p class=\"answer\">No run has ended yet.</p>"));
  CHECK(contains(html, "nothing measured yet"));
  for (const char* empty : {"curves", "diagnostics", "gradients", "axes", "divergence", "factors"}) {
    CAPTURE(empty);
    CHECK_FALSE(contains(markup(html), fmt::format("{}-section", empty)));
  }
  CHECK(contains(html, "<strong>Unfinished:</strong>"));
  CHECK(contains(html, "not ended yet"));
  CHECK(chart_json(html).at("charts").size() == 1);  // the grid of the tuning, without lines
}

TEST_CASE("small multiples by the first axis where arms are many") {
  ReportFixture fixture;
  fixture.study.axes[0].levels.push_back({"half", std::nullopt, {}});
  fixture.study.axes[0].levels.push_back({"double", std::nullopt, {}});
  for (std::size_t a = 2; a < 4; ++a)
    for (std::size_t d = 0; d < 2; ++d)
      fixture.study.arms.push_back(
          {"alpha=" + fixture.study.axes[0].levels[a].name + ", d_k=" + (d == 0 ? "4" : "64"), {a, d}, {}});
  const nlohmann::json data = chart_json(fixture.html());
  const auto& panels = data.at("charts").at(0).at("panels");
  REQUIRE(panels.size() == 4);
  CHECK(panels.at(1).at("title") == "alpha=<one>");
  CHECK(panels.at(1).at("series").at(1).at("name") == "d_k=4");
  CHECK(panels.at(0).at("series").at(1).at("style") == panels.at(1).at("series").at(1).at("style"));
}

TEST_CASE("a report of a study that leaves out combinations draws the arms that are left, and no factor effects") {
  ReportFixture fixture;
  fixture.study.arms.erase(fixture.study.arms.begin() + 1);  // alpha=sqrt(d), d_k=64
  fixture.study.hypotheses.clear();
  fixture.analysis = analyse(fixture.study, fixture.known);
  const std::string html = fixture.html();
  CHECK_FALSE(contains(html, "factors-section"));
  CHECK_FALSE(contains(html, "alpha=sqrt(d), d_k=64"));
  const nlohmann::json data = chart_json(html);
  std::string lines;
  for (const auto& chart : data.at("charts"))
    if (chart.at("id") == "metric-final_loss-d_k-shared")
      for (const auto& series : chart.at("panels").at(0).at("series"))
        lines += series.at("name").get<std::string>() + ": " + series.at("x").dump() + "\n";
  CHECK(lines == "alpha=sqrt(d): [4.0]\nalpha=<one>: [4.0,64.0]\n");
}

TEST_CASE("numbers as a report writes them") {
  using surd::report::number_text;
  CHECK(number_text(0.69314718) == "0.6931");
  CHECK(number_text(12345.6) == "12346");
  CHECK(number_text(800) == "800");
  CHECK(number_text(0.0000321) == "3.21e-05");
  CHECK(number_text(-0.0) == "0");
  CHECK(number_text(surd::report::nan) == "–");
  CHECK(number_text(0.5, {0.4, 0.6}) == "0.5 [0.4, 0.6]");
  CHECK(number_text(0.5, {surd::report::nan, 0.6}) == "0.5");
}

TEST_CASE("a line over seeds ends with the first of them, and a seed without a number does not count") {
  const double nan = surd::report::nan;
  const std::vector<surd::report::SeedCurve> seeds = {
      {{{1, 1}, {2, 2}, {3, 3}}, {}}, {{{1, 3}, {2, 4}}, {}}, {{{1, nan}}, {}}};
  surd::report::Panel panel;
  surd::report::add_curves(panel, "arm", 0, seeds);
  REQUIRE(panel.series.size() == 2);  // the faint ones of the seeds, and the line
  CHECK(panel.series[1].x == std::vector<double>{1, 2});
  CHECK(panel.series[1].y == std::vector<double>{2, 3});
  CHECK(panel.series[1].counts == std::vector<std::size_t>{2, 2});
  // One that diverged is taken for its first value from there on, and ends no line.
  surd::report::Panel diverged;
  surd::report::add_curves(diverged, "arm", 0, {seeds[0], {seeds[1].points, 3}});
  CHECK(diverged.series[1].x == std::vector<double>{1, 2, 3});
  CHECK(diverged.series[1].y == std::vector<double>{2, 3, 3});
}
