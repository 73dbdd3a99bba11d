#include "experiments/study/execution/plan.hpp"
#include "tests/experiments/study/study_files.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace {

using namespace surd;
using namespace surd::test;

/// Results of runs that nobody made: the loss is what `loss` says of the settings.
class Made {
 public:
  using Loss = std::function<double(const PlannedRun&)>;
  Made(const Study& study, Loss loss) : study_(study), loss_(std::move(loss)) {}

  /// Ends what is planned, until nothing more is; how often that was.
  int make_all() {
    for (int rounds = 0;; ++rounds) {
      bool more = false;
      for (const PlannedRun& run : plan(study_, known())) more = make(run) || more;
      if (!more) return rounds;
    }
  }
  bool make(const PlannedRun& run) {
    RunResult result;
    const double loss = loss_(run);
    if (std::isnan(loss)) result.status = RunResult::Status::diverged;
    if (std::isinf(loss)) result.status = RunResult::Status::failed;
    result.metrics.evaluations = {{20, loss, 0, 0, std::nullopt, true}};
    result.updates = 20;
    return results_.emplace(run.id(study_), result).second;
  }
  KnownResults known() const {
    return [this](const std::string& id) {
      const auto found = results_.find(id);
      return found == results_.end() ? nullptr : &found->second;
    };
  }
  std::set<std::string> ids() const {
    std::set<std::string> all;
    for (const auto& [id, result] : results_) all.insert(id);
    return all;
  }

 private:
  const Study& study_;
  Loss loss_;
  std::map<std::string, RunResult> results_;
};

double setting(const PlannedRun& run, const std::string& key, double otherwise) {
  for (const Change& change : run.settings)
    if (change.key == key) return std::stod(change.value);
  return otherwise;
}

const std::string rate = "optimizer.learning_rate", embedding = "model.embedding.learning_rate_multiplier";

/// A bowl in the logarithm, with its lowest point where it says; a dent makes the larger multiplier better.
Made::Loss bowl(double best_rate) {
  return [best_rate](const PlannedRun& run) {
    const double distance = std::log(setting(run, rate, 0.001) / best_rate);
    return distance * distance + 0.01 / setting(run, embedding, 1);
  };
}

std::string chosen(const Tuned& tuned) {
  std::string text;
  for (const Change& change : tuned.settings) text += change.key + "=" + change.value + " ";
  return text;
}

TEST_CASE("ids are paths that tell arm, settings and seed, and nothing a file system minds") {
  const StudyFile file;
  Study study = file.load(StudyFile::whole(std::string(study_rest) + study_tuning));
  CHECK(PlannedRun{1, {}, 7}.id(study) == "scale=one,rho=high/seed-7");
  CHECK(PlannedRun{1, {{rate, "0.01", {}}}, 7}.id(study) == "scale=one,rho=high/optimizer.learning_rate=0.01/seed-7");
  // What the arm has anyhow is the run of the shared regime.
  CHECK(PlannedRun{1, {{rate, "1e-3", {}}}, 7}.id(study) == "scale=one,rho=high/seed-7");
  study.axes[1].levels[1].name = "1/\"d\": \n√";
  CHECK(PlannedRun{1, {}, 7}.id(study) == "scale=one,rho=1%2F%22d%22%3A%20%0A%E2%88%9A/seed-7");
  study.axes[0].levels[0].name = std::string(300, 'x');
  CHECK(PlannedRun{1, {}, 7}.id(study).size() < 220);
  CHECK(PlannedRun{1, {}, 7}.id(study) != PlannedRun{0, {}, 7}.id(study));
}

TEST_CASE("without tuning every arm runs once a seed") {
  const StudyFile file;
  const Study study = file.load(StudyFile::whole());
  Made made(study, bowl(1));
  const auto runs = plan(study, made.known());
  CHECK(runs.size() == 8);
  CHECK(runs_at_most(study) == 8);
  CHECK(runs[1].arm == 1);  // a seed of every arm before the next seed
  CHECK(runs[1].seed == 1);
  CHECK(made.make_all() == 1);
  CHECK(tuned(study, 0, made.known()).runs.empty());
}

TEST_CASE("a plan is the same whoever computes it, and ends with the same runs in whatever order they end") {
  const StudyFile file;
  const Study study = file.load(StudyFile::whole(std::string(study_rest) + study_tuning));
  Made all(study, bowl(0.01)), one_by_one(study, bowl(0.01));
  all.make_all();
  for (bool more = true; more;) {
    more = false;
    const auto first = plan(study, one_by_one.known()), again = plan(study, one_by_one.known());
    REQUIRE(first.size() == again.size());
    for (std::size_t i = first.size(); i-- > 0 && !more;) {
      REQUIRE(first[i].id(study) == again[i].id(study));
      more = one_by_one.make(first[i]);  // the last one first
    }
  }
  CHECK(all.ids() == one_by_one.ids());
  CHECK(plan(study, all.known()).size() == all.ids().size());
  CHECK(all.ids().size() <= runs_at_most(study));
}

TEST_CASE("coordinates are tuned in turn, each with the best of those before it") {
  const StudyFile file;
  const Study study = file.load(StudyFile::whole(std::string(study_rest) + study_tuning));
  Made made(study, bowl(0.01));
  CHECK(plan(study, made.known()).size() == 8 + 4 * 3 * 2);  // shared, and the first grid
  made.make_all();
  const Tuned found = tuned(study, 2, made.known());
  CHECK(found.done);
  CHECK(chosen(found) == rate + "=0.01 " + embedding + "=8 ");
  CHECK(found.runs.size() == (3 + 1) * 2);  // the multiplier 1 is what the first grid was searched with
  CHECK(found.at_edge);                     // of the second grid, which may not grow
  for (const PlannedRun& run : found.runs) CHECK(run.seed > 1000);
  CHECK(made.ids().count("scale=sqrt_dim,rho=low/optimizer.learning_rate=0.01,"
                         "model.embedding.learning_rate_multiplier=8/seed-2") == 1);
}

TEST_CASE("a grid whose best value is at its edge grows by its own ratio, at most as often as it may") {
  const StudyFile file;
  const std::string one_axis =
      "tuning: {metric: loss, seeds: 1, axes: [{name: rate, key: optimizer.learning_rate, values: [0.001, 0.01]}]}\n";
  const Study study = file.load(StudyFile::whole(study_rest + one_axis));
  const auto result = [&](double best) {
    Made made(study, bowl(best));
    made.make_all();
    return tuned(study, 0, made.known());
  };
  CHECK(chosen(result(0.1)) == rate + "=0.1 ");
  CHECK_FALSE(result(0.1).at_edge);
  CHECK(result(0.1).runs.size() == 4);
  CHECK(chosen(result(0.0001)) == rate + "=0.0001 ");
  CHECK(chosen(result(100)) == rate + "=1 ");
  CHECK(result(100).at_edge);
}

TEST_CASE("runs that diverge make a value the worst, where all do, the smallest is chosen, and a failed one waits") {
  const StudyFile file;
  const std::string one_axis =
      "tuning: {metric: loss, seeds: 2, axes: [{name: rate, key: optimizer.learning_rate, values: [0.001, 0.01, "
      "0.1]}]}\n";
  const Study study = file.load(StudyFile::whole(study_rest + one_axis));
  const auto once = [&](double bad) {
    return
        [=](const PlannedRun& run) { return setting(run, rate, 1) > 0.05 && run.seed == 1002 ? bad : bowl(0.1)(run); };
  };
  Made some(study, once(std::nan("")));
  some.make_all();
  CHECK(chosen(tuned(study, 0, some.known())) == rate + "=0.01 ");
  Made none(study, [](const PlannedRun&) { return std::nan(""); });
  none.make_all();
  CHECK(chosen(tuned(study, 0, none.known())) == rate + "=1e-05 ");
  CHECK(tuned(study, 0, none.known()).at_edge);

  Made failed(study, once(std::numeric_limits<double>::infinity()));
  failed.make_all();
  CHECK_FALSE(tuned(study, 0, failed.known()).done);
  CHECK(tuned(study, 0, failed.known()).failed);
}

}  // namespace
