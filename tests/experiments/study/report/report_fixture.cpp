#include "tests/experiments/study/report/report_fixture.hpp"

#include "experiments/run/system_info.hpp"
#include "experiments/study/metrics/evaluations.hpp"
#include "experiments/study/metrics/probe_number.hpp"
#include "experiments/study/verdicts/finding.hpp"
#include "train/storage/files.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace {

using namespace surd;
using Json = nlohmann::ordered_json;

Study make_study() {
  Study study{"Does <b>sqrt(d)</b> & \"1/sqrt(d_k)\" matter?",
              "Do the two factors change what a small Transformer learns, & how fast?",
              "With the factor the loss falls faster; the score std follows d_k^-1/2 exactly.",
              {1, 9},
              YamlDocument::parse("seed: 1\n", "base.yaml"),
              {},
              {},
              {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
              std::nullopt,
              {},
              {},
              false};
  study.axes = {{"alpha",
                 {{"sqrt(d)", std::nullopt, {{"model.embedding.scale", "sqrt_dim", {}}}},
                  {"<one>", std::nullopt, {{"model.embedding.scale", "one", {}}}}}},
                {"d_k", {{"4", 4, {{"model.d_model", "16", {}}}}, {"64", 64, {{"model.d_model", "256", {}}}}}}};
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t d = 0; d < 2; ++d)
      study.arms.push_back({"alpha=" + study.axes[0].levels[a].name + ", d_k=" + study.axes[1].levels[d].name,
                            {a, d},
                            {study.axes[0].levels[a].set.front(), study.axes[1].levels[d].set.front()}});
  study.tuning =
      Tuning{"final_loss", {1001, 1002, 1003}, {{"rate", "optimizer.learning_rate", {0.0003, 0.001, 0.003, 0.01}, 0}}};
  const ProbeMetricOptions scores{"encoder.0.self_attention", "scores", "std"};
  TargetOptions steps;
  steps.target = 1;
  study.metrics = {{"final_loss", "final_value", std::make_shared<FinalValue>(FinalValueOptions{}), "nats"},
                   {"final_accuracy", "final_value",
                    std::make_shared<FinalValue>(FinalValueOptions{{Measure::token_accuracy}}), "", false},
                   {"score_std", "probe", std::make_shared<ProbeMetric>(scores)},
                   {"steps", "updates_to", std::make_shared<UpdatesTo>(steps), "updates", true, ComparedBy::ratio}};
  Hypothesis faster;
  faster.kind = "difference", faster.statement = hypothesis_kinds().recipe(faster.kind)->make();
  faster.name = "The loss ends lower with the factor <sqrt(d)>";
  faster.claim = 1, faster.metric = "final_loss", faster.expect = "lower", faster.regime = Regime::tuned;
  faster.arm = {{"alpha", "sqrt(d)"}}, faster.against = {{"alpha", "<one>"}};
  Hypothesis slope;
  slope.name = "Scores shrink as d_k^-1/2";
  slope.claim = 9, slope.kind = "slope", slope.metric = "score_std", slope.over = "d_k";
  slope.statement = hypothesis_kinds().recipe(slope.kind)->make(), slope.expect = "within";
  slope.formula = "-1/2", slope.tolerance = 0.03, slope.arm = {{"alpha", "sqrt(d)"}};
  Hypothesis sooner = faster;
  sooner.name = "It takes a tenth fewer updates to a loss of 1", sooner.metric = "steps", sooner.margin = 1.1;
  Hypothesis never = sooner;
  never.name = "Without the factor it takes more updates", never.arm = faster.against, never.against = faster.arm;
  never.expect = "higher", never.margin = 0;
  Hypothesis alike = faster;
  alike.kind = "equivalence", alike.statement = hypothesis_kinds().recipe(alike.kind)->make();
  alike.name = "Accuracies are alike", alike.metric = "final_accuracy", alike.margin = 0.02, alike.claim = 0;
  alike.expect = "";
  Hypothesis start = slope;
  start.kind = "value", start.statement = hypothesis_kinds().recipe(start.kind)->make();
  start.name = "Scores start with standard deviation d_k^-1/2", start.over = "", start.formula = "d_k^(-1/2)";
  start.tolerance = 0.05, start.relative = true, start.arm = {};
  study.hypotheses = {faster, slope, sooner, never, alike, start};
  return study;
}

/// Deterministic noise in [-1, 1].
double noise(std::size_t a, std::size_t b, std::size_t c) {
  const double x =
      std::sin(12.9898 * static_cast<double>(a) + 78.233 * static_cast<double>(b) + 37.719 * static_cast<double>(c)) *
      43758.5453;
  return 2 * (x - std::floor(x)) - 1;
}

double score_std(const Arm& arm, std::uint64_t seed, std::uint64_t update) {
  const double d_k = arm.levels[1] == 0 ? 4 : 64;
  return std::pow(d_k, -0.5) * (1 + 0.04 * noise(arm.levels[0], seed, 3)) * (1 + static_cast<double>(update) / 800);
}

RunResult make_result(const Study& study, const PlannedRun& run) {
  const Arm& arm = study.arms[run.arm];
  const double rate = run.settings.empty() ? 0.001 : std::stod(run.settings.front().value);
  const double off = std::abs(std::log10(rate / 0.003));
  const double speed = (arm.levels[0] == 0 ? 1.0 : 0.6) * std::exp(-0.8 * off * off);
  RunResult result;
  result.updates = 800;
  result.vocabulary = 20;
  const bool diverges = run.arm == 2 && run.settings.empty() && run.seed == 4;
  if (run.arm == 1 && run.settings.empty() && run.seed == 7) {
    result.status = RunResult::Status::failed;
    result.message = "out of memory while <attention> asked for 3 GiB & more";
    return result;
  }
  for (std::uint64_t update = 0; update <= 800; update += 40) {
    if (diverges && update > 240) break;
    const double jitter = 1 + 0.08 * noise(run.arm, run.seed, update) + 0.1 * noise(run.arm, run.seed, 0);
    double loss = (update == 0 ? 1 : jitter) * (0.05 + 2.95 * std::exp(-6 * speed * static_cast<double>(update) / 800));
    if (diverges && update > 80) loss *= std::pow(1.9, static_cast<double>(update - 80) / 40);
    if (update > 0)
      result.metrics.updates.push_back(
          {update, 0, loss, loss * (2 + noise(run.arm, run.seed, update + 1)), rate, 320, 320});
    result.metrics.evaluations.push_back({update, loss, std::exp(loss), std::exp(-0.9 * loss), std::nullopt, false});
    if (update % 160 != 0) continue;
    for (const char* place : {"encoder.0.self_attention", "decoder.0.cross_attention"}) {
      result.probe.add(update, {place, "scores", "std", score_std(arm, run.seed, update)});
      result.probe.add(update, {place, "weights", "entropy",
                                1 - 0.3 * static_cast<double>(update) / 800 * (1 + 0.1 * noise(run.arm, run.seed, 5))});
    }
    std::size_t row = 0;
    for (const char* name : {"encoder.0.self_attention.query.weight", "encoder.0.self_attention.key.weight",
                             "encoder.0.feed_forward.inner.weight", "source_embedding.weight"})
      result.probe.add(update,
                       {name, "parameter", "gradient_norm",
                        std::pow(10.0, -static_cast<double>(row++) + 0.3 * noise(run.arm, update, row)) * loss});
  }
  if (diverges) {
    result.status = RunResult::Status::diverged;
    result.message = "update 251: loss is nan";
  }
  return result;
}

Estimate estimate(const std::vector<MetricValue>& values) { return estimate_of(ComparedBy::difference, values); }

}  // namespace

ReportFixture::ReportFixture(bool finished) : study(make_study()) {
  known = [this](const std::string& id) {
    const auto found = results.find(id);
    return found == results.end() ? nullptr : &found->second;
  };
  // Until a plan is complete it grows with what is known.
  for (std::size_t before = 1; finished && before != results.size();) {
    before = results.size();
    for (const PlannedRun& run : plan(study, known)) results.emplace(run.id(study), make_result(study, run));
  }
  analyse();
  provenance = {"title: Does <b>sqrt(d)</b> matter?\n# </script><!--\n",
                "seed: 1\n",
                {"git checkout 0123456", "surd study run study.yaml --out again"},
                {{"surd", "0.1.0"}, {"cpu", "a processor"}}};
}

void ReportFixture::analyse() {
  for (const PlannedRun& run : plan(study, known)) {
    ++analysis.runs;
    const RunResult* result = known(run.id(study));
    if (result == nullptr)
      ++analysis.missing;
    else if (result->status == RunResult::Status::finished)
      ++analysis.finished;
    else if (result->status == RunResult::Status::diverged)
      ++analysis.diverged;
    else
      ++analysis.failed;
  }
  for (std::size_t arm = 0; arm < study.arms.size(); ++arm) {
    analysis.tuned.push_back(tuned(study, arm, known));
    Endings endings{arm, {}, 0, 0, 0, {}};
    for (const Regime regime : {Regime::shared, Regime::tuned}) {
      if (regime == Regime::tuned && !analysis.tuned[arm].done) continue;
      std::vector<ArmSummary> summaries;
      for (const char* metric : {"final_loss", "final_accuracy", "score_std"})
        summaries.push_back({arm, regime, metric, {}, {}, {}});
      for (const std::uint64_t seed : study.seeds) {
        const PlannedRun run{arm, regime == Regime::shared ? std::vector<Change>{} : analysis.tuned[arm].settings,
                             seed};
        const RunResult* result = known(run.id(study));
        if (result == nullptr) continue;
        if (regime == Regime::shared) {
          ++endings.runs;
          endings.diverged += result->status == RunResult::Status::diverged ? 1 : 0;
          endings.failed += result->status == RunResult::Status::failed ? 1 : 0;
        }
        if (result->status == RunResult::Status::failed) continue;
        const auto& evaluations = result->metrics.evaluations;
        const bool diverged = result->status == RunResult::Status::diverged;
        const EvaluationRecord& last = diverged ? evaluations.front() : evaluations.back();
        const double values[] = {last.loss, last.token_accuracy, result->probe.begin()->numbers.front().value};
        for (std::size_t i = 0; i < summaries.size(); ++i) {
          summaries[i].seeds.push_back(seed);
          summaries[i].values.push_back(values[i]);
        }
      }
      for (ArmSummary& summary : summaries) {
        if (summary.values.empty()) continue;
        summary.estimate = estimate(summary.values);
        analysis.summaries.push_back(summary);
      }
    }
    endings.diverged_interval = statistics::wilson(endings.diverged, std::max<std::size_t>(endings.runs, 1));
    if (endings.runs > 0) analysis.endings.push_back(endings);
  }
  const bool done = analysis.missing == 0;
  std::vector<MetricValue> gaps;
  for (const std::uint64_t seed : study.seeds) gaps.emplace_back(-0.1 + 0.01 * noise(1, seed, 9));
  Check gap = check_of("alpha=sqrt(d) - alpha=<one>", ComparedBy::difference, study.seeds, gaps);
  gap.verdict = Verdict::supported;
  gap.region = Region{-statistics::infinity, 0};
  Check slope = check_of("alpha=sqrt(d)", ComparedBy::difference, study.seeds, {});
  slope.effect = {-0.52, {-0.56, -0.48}}, slope.expected = -0.5, slope.tolerance = 0.03;
  slope.region = Region{-0.53, -0.47, true};
  Check sooner = check_of(gap.label, ComparedBy::ratio, study.seeds, {});
  sooner.effect = {0.42, {0.38, 0.47}}, sooner.region = Region{-statistics::infinity, 1 / 1.1},
  sooner.verdict = Verdict::supported;
  Check never = sooner;
  never.effect = {MetricValue::at_least(1.6), {1.2, statistics::infinity}};
  never.region = Region{1, statistics::infinity};
  Check alike = gap;
  alike.effect = {0.031, {0.026, 0.037}}, alike.region = Region{-0.02, 0.02}, alike.verdict = Verdict::refuted;
  std::vector<Check> starts;
  for (const Arm& arm : study.arms) {
    const double expected = arm.levels[1] == 0 ? 0.5 : 0.125, value = expected * (arm.levels[0] == 0 ? 1.01 : 0.93);
    Check start = check_of(arm.name, ComparedBy::difference, study.seeds, {});
    start.effect = {value, {0.99 * value, 1.01 * value}}, start.expected = expected, start.tolerance = 0.05 * expected;
    start.region = Region{0.95 * expected, 1.05 * expected, true};
    start.verdict = arm.levels[0] == 0 ? Verdict::supported : Verdict::refuted;
    starts.push_back(start);
  }
  const Verdict supported = done ? Verdict::supported : Verdict::undecided;
  const Verdict refuted = done ? Verdict::refuted : Verdict::undecided;
  analysis.hypotheses = {{0,
                          supported,
                          done ? "The interval excludes 0 and p after Holm is below 0.05." : "No run has ended.",
                          {},
                          {},
                          {}},
                         {1, Verdict::undecided, "The interval reaches beyond the tolerance.", {}, {}, {}},
                         {2, supported, "The interval lies below 1/1.1.", {}, {}, {}},
                         {3, supported, "The interval lies above 1.", {}, {}, {}},
                         {4, refuted, "The interval lies beyond the margin.", {}, {}, {}},
                         {5, refuted, "Two of four arms are too low.", {}, {}, {}}};
  if (done) {
    analysis.hypotheses[0].p = 0.00195;
    analysis.hypotheses[0].p_holm = 0.0039;
    analysis.hypotheses[0].checks = {gap};
    analysis.hypotheses[1].checks = {slope};
    analysis.hypotheses[2].checks = {sooner};
    analysis.hypotheses[3].checks = {never};
    analysis.hypotheses[4].checks = {alike};
    analysis.hypotheses[5].checks = starts;
    analysis.factor_effects = {{{"alpha"}, {0.12, {0.09, 0.15}}},
                               {{"d_k"}, {-0.01, {-0.03, 0.02}}},
                               {{"alpha", "d_k"}, {0.004, {-0.01, 0.02}}}};
  }
  analysis.claims = {{1, analysis.hypotheses[0].verdict, "With the factor <sqrt(d)> the loss ends lower & sooner."},
                     {9, Verdict::undecided, "Whether scores shrink as d_k^-1/2 stays open."}};
}

void ReportFixture::write(const std::string& folder) const {
  for (const auto& [id, result] : results) {
    const std::string run = folder + "/runs/" + id;
    std::filesystem::create_directories(run);
    std::string metrics, probe;
    for (const EvaluationRecord& e : result.metrics.evaluations)
      metrics += Json{{"event", "evaluation"},
                      {"update", e.update},
                      {"loss", e.loss},
                      {"perplexity", e.perplexity},
                      {"token_accuracy", e.token_accuracy},
                      {"best", e.best}}
                     .dump() +
                 "\n";
    for (const UpdateRecord& u : result.metrics.updates)
      metrics += Json{{"event", "update"},
                      {"update", u.update},
                      {"epoch", u.epoch},
                      {"loss", u.loss},
                      {"gradient_norm", u.gradient_norm},
                      {"learning_rate", u.learning_rate},
                      {"source_tokens", u.source_tokens},
                      {"target_tokens", u.target_tokens}}
                     .dump() +
                 "\n";
    for (const ProbeSeries& s : result.probe)
      for (const auto& [update, value] : s.numbers)
        probe +=
            Json{{"update", update}, {"path", s.path}, {"what", s.what}, {"statistic", s.statistic}, {"value", value}}
                .dump() +
            "\n";
    static constexpr const char* words[] = {"finished", "diverged", "failed"};
    write_file_atomically(run + "/metrics.jsonl", metrics);
    write_file_atomically(run + "/probe.jsonl", probe);
    write_file_atomically(
        run + "/outcome.json",
        Json{{"status", words[static_cast<std::size_t>(result.status)]}, {"message", result.message}}.dump() + "\n");
  }
  Json verdicts{{"summaries", Json::array()}};
  for (const ArmSummary& s : analysis.summaries)
    verdicts["summaries"].push_back(
        {{"arm", study.arms[s.arm].name},
         {"regime", s.regime == Regime::tuned ? "tuned" : "shared"},
         {"metric", s.metric},
         {"unit", study.metric(s.metric).unit},
         {"estimate",
          {{"value", s.estimate.value.low}, {"interval", {s.estimate.interval.low, s.estimate.interval.high}}}},
         {"censored", s.censored()},
         {"values", lows_of(s.values)}});
  write_file_atomically(folder + "/verdicts.json", verdicts.dump(2) + "\n");
  write_file_atomically(folder + "/report.html", html());
}
