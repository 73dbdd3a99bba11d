#pragma once

#include "experiments/study/metrics/evaluations.hpp"
#include "experiments/study/verdicts/analysis.hpp"
#include "tests/text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Studies and their results, made by hand.
namespace surd::test {

using Levels = std::vector<std::pair<std::string, std::optional<double>>>;

/// A metric of a kind with these options.
template <class Kind>
MetricSpec metric_of(std::string name, std::string kind, const typename Kind::Options& options = {}) {
  const auto metric = std::make_shared<Kind>(options);
  return {std::move(name), std::move(kind), metric, "", metric->lower_is_better(), metric->compared_by()};
}

/// The same under a name that does not matter.
template <class Kind>
MetricSpec metric(const typename Kind::Options& options = {}) {
  return metric_of<Kind>("the_metric", "kind", options);
}

/// A study without hypotheses: every combination of the levels, and as many seeds.
inline Study study_of(const std::vector<std::pair<std::string, Levels>>& axes, std::size_t seeds) {
  Study study{"A title", "A question?", "", {}, YamlDocument::parse("seed: 1\n", "base.yaml"), {}, {}, {}, {}, {}, {}};
  std::vector<std::vector<std::size_t>> combinations = {{}};
  for (const auto& [name, levels] : axes) {
    Axis axis{name, {}};
    std::vector<std::vector<std::size_t>> longer;
    for (const auto& [level, value] : levels) axis.levels.push_back({level, value, {}});
    for (const auto& combination : combinations) {
      for (std::size_t i = 0; i < levels.size(); ++i) {
        longer.push_back(combination);
        longer.back().push_back(i);
      }
    }
    study.axes.push_back(std::move(axis));
    combinations = std::move(longer);
  }
  for (const auto& combination : combinations) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < combination.size(); ++i)
      words.push_back(study.axes[i].name + "=" + study.axes[i].levels[combination[i]].name);
    study.arms.push_back({fmt::format("{}", fmt::join(words, ", ")), combination, {}});
  }
  for (std::size_t seed = 1; seed <= seeds; ++seed) study.seeds.push_back(seed);
  study.metrics.push_back(metric_of<FinalValue>("final_loss", "final_value"));
  study.metrics.back().unit = "nats";
  return study;
}

/// A run that began with a loss of 3 and ended with this one after 100 updates.
inline RunResult run_with(double loss) {
  RunResult result;
  result.updates = 100;
  result.vocabulary = 32;
  result.metrics.updates = {{50, 0, (3 + loss) / 2, 1.5, 1e-3, 10, 10}, {100, 0, loss, 0.5, 1e-3, 10, 10}};
  result.metrics.evaluations = {{0, 3, std::exp(3), 0.1, std::nullopt, true},
                                {100, loss, std::exp(loss), 0.9, std::nullopt, true}};
  return result;
}

inline RunResult diverged_run() {
  RunResult result = run_with(3);
  result.status = RunResult::Status::diverged;
  result.message = "diverged at update 7";
  result.metrics.updates.clear();
  result.metrics.evaluations.resize(1);
  return result;
}

inline RunResult failed_run() {
  RunResult result;
  result.status = RunResult::Status::failed;
  result.message = "no space left";
  return result;
}

/// What the runs of a study left.
class Results {
 public:
  explicit Results(const Study& study) : study_(study) {}

  RunResult& at(std::size_t arm, std::uint64_t seed, const std::vector<Change>& settings = {}) {
    return results_[PlannedRun{arm, settings, seed}.id(study_)];
  }
  void remove(std::size_t arm, std::uint64_t seed) { results_.erase(PlannedRun{arm, {}, seed}.id(study_)); }
  KnownResults known() const {
    return [this](const std::string& id) -> const RunResult* {
      const auto found = results_.find(id);
      return found == results_.end() ? nullptr : &found->second;
    };
  }
  /// Final losses of an arm over the seeds 1, 2, ...
  void losses(std::size_t arm, const std::vector<double>& values, const std::vector<Change>& settings = {}) {
    for (std::size_t i = 0; i < values.size(); ++i) at(arm, i + 1, settings) = run_with(values[i]);
  }

 private:
  const Study& study_;
  std::map<std::string, RunResult> results_;
};

/// A tuning of the learning rate over 0.001, 0.01 and 0.1 on the seeds 1001, 1002 and 1003.
inline void add_tuning(Study& study) {
  study.tuning = Tuning{"final_loss", {1001, 1002, 1003}, {{"rate", "optimizer.learning_rate", {0.001, 0.01, 0.1}, 0}}};
}

/// Makes every run that the search for an arm's rate asks for.
inline void tune(const Study& study, Results& results, std::size_t arm,
                 const std::function<RunResult(double rate, std::uint64_t seed)>& run) {
  Tuned search;
  do {
    search = tuned(study, arm, results.known());
    for (const PlannedRun& planned : search.runs)
      results.at(arm, planned.seed, planned.settings) = run(std::stod(planned.settings.front().value), planned.seed);
  } while (!tuned(study, arm, results.known()).done);
}

inline Hypothesis hypothesis_of(std::string kind, Selector arm, Selector against, std::string expect,
                                double margin = 0) {
  Hypothesis hypothesis;
  hypothesis.name = "It is so";
  hypothesis.statement = hypothesis_kinds().recipe(kind)->make();
  hypothesis.kind = std::move(kind);
  hypothesis.metric = "final_loss";
  hypothesis.arm = std::move(arm);
  hypothesis.against = std::move(against);
  hypothesis.expect = std::move(expect);
  hypothesis.margin = margin;
  return hypothesis;
}

}  // namespace surd::test
