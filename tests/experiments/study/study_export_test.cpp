#include "experiments/study/report/export.hpp"
#include "study_files.hpp"
#include "study_runs.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <sstream>

using namespace surd;
using namespace surd::test;

namespace {

struct Exported {
  Study study = study_of({{"alpha", {{"one", 1.0}, {"a|b, \"c\"", 2.0}}}}, 6);
  Results results{study};

  Exported() {
    study.metrics.push_back(metric_of<UpdatesTo>("steps", "updates_to", {{}, 0.1}));
    study.metrics.back().unit = "updates";
    study.claims = {3};
    study.hypotheses = {hypothesis_of("difference", {{"alpha", "a|b, \"c\""}}, {{"alpha", "one"}}, "lower")};
    study.hypotheses[0].claim = 3;
    results.losses(0, {1, 1.1, 1, 0.9, 1, 1 / 3.0});
    results.losses(1, {0.1, 0.2, 0.1, 0.2, 0.1, 0.1});
  }
};

}  // namespace

TEST_CASE_FIXTURE(Exported, "verdicts.json holds everything, to the last bit, and no more than the results say") {
  const Analysis analysis = analyse(study, results.known());
  const std::string text = to_json(study, analysis, {}, {});
  CHECK(text == to_json(study, analyse(study, results.known()), {}, {}));
  CHECK(text.back() == '\n');
  CHECK_FALSE(contains(text, "\"data\""));  // it is generated
  const Fingerprint one{{"train", {3, "0123"}}}, other{{"train", {2, "4567"}}};
  const std::string with_data = to_json(study, analysis, {}, {one, other, one});
  CHECK(with_data == to_json(study, analysis, {}, {other, one}));
  CHECK(nlohmann::json::parse(with_data)["data"].size() == 2);
  CHECK(nlohmann::json::parse(with_data)["data"][0]["train"]["xxh3"] == "4567");
  const auto json = nlohmann::json::parse(text);
  CHECK(json["question"] == "A question?");
  CHECK(json["runs"]["finished"] == 12);
  const auto& hypothesis = json["hypotheses"][0];
  CHECK(hypothesis["verdict"] == "supported");
  CHECK(hypothesis["kind"] == "difference");
  CHECK(hypothesis["arm"]["alpha"] == "a|b, \"c\"");
  CHECK(hypothesis["against"].size() == 1);
  CHECK(hypothesis["under"].is_object());
  CHECK(hypothesis["p"].get<double>() == 0.03125);
  CHECK(hypothesis["checks"][0]["effect"]["value"].get<double>() == analysis.hypotheses[0].checks[0].effect.value.low);
  CHECK(hypothesis["checks"][0]["effect"]["interval"][1].get<double>() ==
        analysis.hypotheses[0].checks[0].effect.interval.high);
  CHECK(hypothesis["checks"][0]["expected"].is_null());
  CHECK(hypothesis["checks"][0]["seeds"].size() == 6);
  CHECK(json["claims"][0]["verdict"] == "supported");
  CHECK(json["arms"][1]["levels"]["alpha"] == "a|b, \"c\"");
  REQUIRE(json["summaries"].size() == 4);
  CHECK(json["summaries"][0]["values"][5].get<double>() == 1 / 3.0);
  CHECK(json["summaries"][2]["censored"] == 6);
  CHECK(json["summaries"][2]["compared_by"] == "ratio");
  CHECK(json["summaries"][2]["quantile"].is_null());
  CHECK(json["summaries"][2]["bounds"][0] == "at_least");
  CHECK(json["summaries"][2]["estimate"]["bound"] == "at_least");
  CHECK(json["summaries"][2]["estimate"]["interval"][1].is_null());
  CHECK(json["factor_effects"][0]["axes"][0] == "alpha");

  const auto empty = nlohmann::json::parse(to_json(study, analyse(study, Results(study).known()), {}, {}));
  CHECK(empty["hypotheses"][0]["checks"][0]["effect"]["value"].is_null());
  CHECK(empty["hypotheses"][0]["p"].is_null());
  CHECK(empty["runs"]["missing"] == 12);
}

TEST_CASE_FIXTURE(Exported, "the report in Markdown has its tables whole") {
  results.at(1, 6) = diverged_run();
  const std::string text = to_markdown(study, analyse(study, results.known()));
  CHECK(contains(text, "# A title\n\nA question?\n"));
  CHECK(contains(text, "12 runs: 11 finished, 1 diverged, 0 failed, 0 not ended. 6 seeds an arm."));
  CHECK(contains(text, "| It is so | undecided | alpha=a\\|b, \"c\" - alpha=one |"));
  CHECK(contains(text, "| final_loss (nats) | alpha=one | shared | "));
  CHECK(contains(text, "| steps (updates) | alpha=one | shared | ≥ 100 | [100, ∞] | 6 | 6 |"));
  CHECK(contains(text, "| alpha=a\\|b, \"c\" |  | 6 | 1 | [0.03005, 0.5635] | 0 |"));
  CHECK(contains(text, "- Claim 3 is undecided"));
  CHECK_FALSE(contains(text, "Tuned settings"));
  CHECK_FALSE(contains(text, "quick run"));
  CHECK(contains(to_markdown(study, analyse(study, Results(study).known())), "alpha=one |  |  |  |  | 0 |\n"));
  study.quick = true;
  CHECK(contains(to_markdown(study, analyse(study, results.known())), "nothing in it is evidence"));

  add_tuning(study);
  CHECK(contains(to_markdown(study, analyse(study, results.known())), "| alpha=one | not done | no | "));
  tune(study, results, 0, [](double rate, std::uint64_t) { return run_with(rate == 0.01 ? 0.5 : 1.5); });
  CHECK(contains(to_markdown(study, analyse(study, results.known())),
                 "| alpha=one | optimizer.learning_rate=0.01 | no | 3 | 1 | 0 | 9 |"));
}

TEST_CASE_FIXTURE(Exported,
                  "what was changed after the study was written stands in report and verdicts, if anything was") {
  CHECK_FALSE(contains(to_markdown(study, analyse(study, results.known())), "Changed since"));
  CHECK_FALSE(contains(to_json(study, analyse(study, results.known()), {}, {}), "\"changes\""));
  study.amendments = {{"2026-11-20", "Six | seeds\nfor ten", "no result"}, {"2026-11-21", "A <margin>", "two arms"}};
  CHECK(contains(to_markdown(study, analyse(study, results.known())),
                 "A question?\n\nChanged since:\n\n| Date | What was changed | What was known by then |\n"
                 "|---|---|---|\n| 2026-11-20 | Six \\| seeds for ten | no result |\n"
                 "| 2026-11-21 | A \\<margin> | two arms |\n\n"));
  const auto json = nlohmann::json::parse(to_json(study, analyse(study, results.known()), {}, {}));
  REQUIRE(json["changes"].size() == 2);
  CHECK(json["changes"][0]["date"] == "2026-11-20");
  CHECK(json["changes"][0]["what"] == "Six | seeds\nfor ten");
  CHECK(json["changes"][1]["seen"] == "two arms");
}

TEST_CASE_FIXTURE(Exported, "the verdicts as a table for a paper") {
  study.hypotheses.push_back(study.hypotheses[0]);
  study.hypotheses[0].name = "[50 %] of d_k | \\sqrt{d} & $x^2$ ~ #1";
  study.hypotheses[1].name = "It takes longer for σ ≈ 1/√d", study.hypotheses[1].metric = "steps";
  study.hypotheses[1].expect = "higher";
  const Analysis analysis = analyse(study, results.known());
  const std::string latex = verdicts_as_latex(study, analysis);
  CHECK(contains(latex,
                 "% \\usepackage{booktabs}\n\\begin{tabular}{p{0.36\\linewidth}lrrl}\n  \\toprule\n"
                 "  Hypothesis & Effect [95 \\% interval] & p after Holm & Seeds & Verdict \\\\\n  \\midrule\n"
                 "  {}[50 \\%] of d\\_k $|$ \\textbackslash{}sqrt\\{d\\} \\& \\$x\\textasciicircum{}2\\$ "
                 "\\textasciitilde{} \\#1 & $-$0."));
  CHECK(contains(latex, " & 0.062 & 6 & undecided \\\\\n"));
  CHECK(contains(latex, "  It takes longer for $\\sigma$ $\\approx$ 1/$\\surd$d & not known"));
  CHECK(latex.substr(latex.size() - 28) == "  \\bottomrule\n\\end{tabular}\n");
  const std::string markdown = verdicts_as_markdown(study, analysis);
  CHECK(contains(markdown, "| Hypothesis | Effect [95 % interval] | p after Holm | Seeds | Verdict |\n|---|"));
  CHECK(contains(markdown, "| [50 %] of d_k \\| \\\\sqrt{d} & $x^2$ ~ #1 | −0."));
  CHECK(std::count(markdown.begin(), markdown.end(), '\n') == 4);
  results.remove(1, 6);
  CHECK(contains(verdicts_as_latex(study, analyse(study, results.known())), "% 1 of 12 runs have not ended.\n"));
  // What is not decided holds nowhere, be the estimates where they are expected.
  Hypothesis low = hypothesis_of("value", {}, {}, "at_most");
  low.formula = "1.2";
  study.hypotheses = {low};
  const HypothesisResult open = analyse(study, results.known()).hypotheses[0];
  CHECK(open.verdict == Verdict::undecided);
  CHECK(contains(open.reason, "holds in 0 of 2 cases"));
  CHECK(contains(verdicts_as_markdown(study, analyse(study, results.known())), "| holds in 0 of 2 cases |"));
  study.quick = true;
  CHECK(contains(verdicts_as_markdown(study, analyse(study, results.known())), "**A quick run, cut down to be tried"));
}

TEST_CASE_FIXTURE(Exported, "a table in LaTeX has no signs that its fonts may lack") {
  study.hypotheses[0].name = "ο ≠ ½ … Ο ς µ x₁² — é\tb\u00A0c";
  const std::string latex = verdicts_as_latex(study, analyse(study, results.known()));
  CHECK(contains(latex, "  o $\\neq$ $\\frac12$ \\dots{} O $\\varsigma$ $\\mu$ x$_1$$^2$ --- é b~c & "));
}

TEST_CASE_FIXTURE(Exported, "runs.csv has a row a run and metric") {
  results.remove(1, 6);
  const std::string text = to_csv(study, results.known());
  CHECK(std::count(text.begin(), text.end(), '\n') == 1 + 12 * 2);
  CHECK(contains(text, "run,alpha,settings,seed,status,metric,value,unit,bound\n"));
  CHECK(contains(text, ",one,,6,finished,final_loss,0.3333333333333333,nats,exactly\n"));
  CHECK(contains(text, ",one,,6,finished,steps,100,updates,at_least\n"));
  CHECK(contains(text, ",\"a|b, \"\"c\"\"\",,6,missing,final_loss,,nats,\n"));
}

TEST_CASE("no axis can be called like another column of runs.csv") {
  const Study study = StudyFile().load(StudyFile::whole("seeds: 1\n"));
  std::istringstream header(to_csv(study, [](const std::string&) { return nullptr; }));
  std::string line, column;
  REQUIRE(std::getline(header, line));
  std::istringstream columns(line);
  std::size_t count = 0;
  for (; std::getline(columns, column, ','); ++count)
    CHECK_MESSAGE(
        contains(complaint(StudyFile::whole("axes: [{name: " + column + ", key: model.heads, values: [2]}]\n")),
                 "axes[0].name: '" + column + "' is a column of runs.csv; choose another name"),
        column);
  CHECK(count == 8);
}
