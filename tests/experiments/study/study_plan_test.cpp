#include "experiments/study/execution/plan.hpp"
#include "tests/experiments/study/study_files.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
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
  const auto tuned_with = [&](const char* last) {
    const std::string key = "model.feed_forward.outer_learning_rate_multiplier";
    std::vector<Change> settings;
    for (const char* n : {"0.1", "0.2", "0.3", last}) settings.push_back({key + n, "1.4142135623730951", {}});
    return std::filesystem::path(PlannedRun{0, settings, 7}.id(study)).parent_path().filename().string();
  };
  CHECK(tuned_with("4").size() < 256);
  CHECK(tuned_with("4") != tuned_with("5"));
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
  CHECK(found.different_runs == (3 + 1) * 2);  // the multiplier 1 is what the first grid was searched with
  CHECK(found.at_edge);                        // of the second grid, which may not grow
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

TEST_CASE(
    "a grid also grows where a value at its edge cannot be told from the best, if it is to, and stops where it can") {
  const StudyFile file;
  const auto found = [&](const std::string& grow_at, double at_lower, double at_upper) {
    const Study study = file.load(StudyFile::whole(
        study_rest + fmt::format("tuning: {{metric: loss, seeds: 2, axes: [{{name: rate, key: optimizer.learning_rate, "
                                 "values: [0.001, 0.01, 0.1]{}}}]}}\n",
                                 grow_at)));
    Made made(study, [&](const PlannedRun& run) {  // a valley at 0.01, and behind 0.001 a deeper one
      const double value = setting(run, rate, 1), more = run.seed == 1002 ? 0.2 : -0.2;
      if (value > 0.05) return value > 0.5 ? 9 : at_upper + more;
      if (value > 0.005) return 1 + more;
      return value > 0.0005 ? at_lower + more : value > 0.00005 ? 0.3 + more : 2 + more;
    });
    made.make_all();
    return tuned(study, 0, made.known());
  };
  const std::string alike = ", grow_at: alike";
  CHECK(chosen(found("", 1.1, 3)) == rate + "=0.01 ");
  CHECK(chosen(found(", grow_at: best", 1.1, 3)) == rate + "=0.01 ");
  CHECK(chosen(found(alike, 1.1, 3)) == rate + "=0.0001 ");
  CHECK_FALSE(found(alike, 1.1, 3).at_edge);
  CHECK(found(alike, 1.1, 3).runs.size() == 5 * 2);      // 0.00001 as well, behind which it does not grow
  CHECK(chosen(found(alike, 3, 3)) == rate + "=0.01 ");  // both ends are told from the best
  CHECK(found(alike, 3, 3).runs.size() == 3 * 2);
  CHECK(found(alike, 3, 1.1).runs.size() == 4 * 2);  // 1 is told from it
  CHECK(found(alike + ", extensions: 1", 1.1, 1.1).runs.size() == 4 * 2);
  CHECK(chosen(found(alike + ", extensions: 1", 1.1, 1.1)) == rate + "=0.0001 ");  // the lower end before the upper
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

/// The tuning of study_tuning, 3 x 2 settings, on so many seeds and searched as `search` says.
std::string tuning_of(const std::string& search, int seeds = 2, const std::string& multipliers = "1, 8") {
  return fmt::format(
      "tuning:\n  metric: loss\n  seeds: {}\n  {}\n  axes:\n"
      "    - {{name: rate, key: optimizer.learning_rate, values: [0.001, 0.01, 0.1]}}\n"
      "    - {{name: embedding, key: model.embedding.learning_rate_multiplier, values: [{}]{}}}\n",
      seeds, search, multipliers, search.find("jointly") == std::string::npos ? ", extensions: 0" : "");
}
std::string jointly(int settings) { return fmt::format("search: jointly\n  settings: {}", settings); }

std::set<std::string> texts(const std::vector<std::vector<Change>>& settings) {
  std::set<std::string> all;
  for (const std::vector<Change>& one : settings) {
    Tuned tuned;
    tuned.settings = one;
    all.insert(chosen(tuned));
  }
  return all;
}

TEST_CASE("where no setting reaches the target, the one with the lowest loss is chosen") {
  const StudyFile file;
  const std::string steps = "  - {name: steps, kind: updates_to, of: token_accuracy, target: 0.9}\n";
  const std::string by_steps = std::string(study_tuning).replace(std::string(study_tuning).find("loss"), 4, "steps");
  const Study study = file.load(StudyFile::whole(study_rest + steps + by_steps));
  Made made(study, bowl(0.01));  // all runs have an accuracy of 0
  made.make_all();
  CHECK(chosen(tuned(study, 0, made.known())) == rate + "=0.01 " + embedding + "=8 ");
}

TEST_CASE("with tuning alone, no run has the base's own settings unless the tuning comes to them") {
  const StudyFile file;
  const Study study = file.load(StudyFile::whole(std::string(study_rest) + study_tuning + "  only: true\n"));
  Made made(study, bowl(0.01));
  made.make_all();
  std::size_t shared = 0, tuned_runs = 0;
  for (const PlannedRun& run : plan(study, made.known())) {
    const bool of_study = std::find(study.seeds.begin(), study.seeds.end(), run.seed) != study.seeds.end();
    shared += of_study && run.settings.empty();
    tuned_runs += of_study && !run.settings.empty();
  }
  CHECK(shared == 0);
  CHECK(tuned_runs == study.arms.size() * study.seeds.size());
  CHECK(made.ids().size() <= runs_at_most(study));
}

TEST_CASE("jointly, every arm tries the same settings of the product, none twice, and the best mean is chosen") {
  const StudyFile file;
  const auto read = [&](int settings) {
    return file.load(StudyFile::whole(study_rest + tuning_of(jointly(settings))));
  };
  const Study study = read(4);
  const auto four = texts(joint_settings(*study.tuning)), five = texts(joint_settings(*read(5).tuning)),
             all = texts(joint_settings(*read(100).tuning));
  CHECK(four.size() == 4);
  CHECK(five.size() == 5);
  CHECK(all.size() == 6);
  CHECK(all.count(rate + "=0.01 " + embedding + "=8 ") == 1);
  for (const std::string& one : four) CHECK(five.count(one) == 1);
  for (const std::string& one : five) CHECK(all.count(one) == 1);

  Made made(study, bowl(0.01));
  CHECK(plan(study, made.known()).size() == 8 + 4 * 4 * 2);  // all of them at once
  for (std::size_t arm = 0; arm < 4; ++arm) {
    std::vector<std::vector<Change>> tried;
    for (const PlannedRun& run : tuned(study, arm, made.known()).runs) tried.push_back(run.settings);
    CHECK(tried.size() == 4 * 2);
    CHECK(texts(tried) == four);
  }
  made.make_all();
  CHECK(runs_at_most(study) == 4 * (2 + 4 * 2 + 2));
  CHECK(made.ids().size() <= runs_at_most(study));
  CHECK(runs_at_most(read(100)) == 4 * (2 + 6 * 2 + 2));
  CHECK(tuned(study, 1, made.known()).flatness->tried == 4);

  const Study whole = read(6);
  Made every(whole, bowl(0.01));
  every.make_all();
  CHECK(chosen(tuned(whole, 3, every.known())) == rate + "=0.01 " + embedding + "=8 ");
  CHECK(tuned(whole, 3, every.known()).at_edge);  // of the multipliers, and nothing grows
  CHECK(every.ids().size() == 4 * (2 + 6 * 2 + 2));
  Made even(whole, [](const PlannedRun&) { return 1.0; });
  even.make_all();
  CHECK(chosen(tuned(whole, 0, even.known())) == rate + "=0.001 " + embedding + "=1 ");  // of equals, the smallest

  Made failed(whole, [](const PlannedRun& run) {
    return run.seed == 1002 ? std::numeric_limits<double>::infinity() : bowl(0.01)(run);
  });
  failed.make_all();
  CHECK(tuned(whole, 0, failed.known()).failed);
  CHECK_FALSE(tuned(whole, 0, failed.known()).done);
  CHECK_FALSE(tuned(whole, 0, failed.known()).flatness.has_value());
}

TEST_CASE("an optimum away from every end of the grids is not at their edge") {
  const StudyFile file;
  const Study study = file.load(StudyFile::whole(study_rest + tuning_of(jointly(9), 2, "1, 2, 8")));
  const auto dented = [](const PlannedRun& run) {
    return bowl(0.01)(run) + std::fabs(std::log2(setting(run, embedding, 1)) - 1);
  };
  Made made(study, dented);
  made.make_all();
  CHECK(chosen(tuned(study, 0, made.known())) == rate + "=0.01 " + embedding + "=2 ");
  CHECK_FALSE(tuned(study, 0, made.known()).at_edge);
}

TEST_CASE("a tuning says how far its best is ahead, and how many settings its seeds do not tell from it") {
  const StudyFile file;
  const auto found = [&](const std::string& tuning, const Made::Loss& loss) {
    const Study study = file.load(StudyFile::whole(study_rest + tuning));
    Made made(study, loss);
    made.make_all();
    const Tuned result = tuned(study, 0, made.known());
    REQUIRE(result.flatness.has_value());
    return *result.flatness;
  };
  // The seeds differ by more than the two multipliers do.
  const auto rough = [](const PlannedRun& run) { return bowl(0.01)(run) + 0.02 * static_cast<double>(run.seed % 2); };
  for (const std::string& search : {std::string("search: in_turn"), jointly(6)}) {
    CAPTURE(search);
    const std::size_t tried = search == jointly(6) ? 6 : 4;
    Flatness flat = found(tuning_of(search, 2), rough);
    CHECK(flat.tried == tried);
    CHECK(*flat.ahead == doctest::Approx(0.01 - 0.01 / 8));
    CHECK(flat.alike == std::optional<std::size_t>(1));
    flat = found(tuning_of(search, 6), rough);  // six differences of one sign tell them apart
    CHECK(flat.alike == std::optional<std::size_t>(0));
    CHECK(*flat.ahead == doctest::Approx(0.01 - 0.01 / 8));
    CHECK_FALSE(found(tuning_of(search, 1), rough).alike.has_value());
    const Made::Loss all_but_one = [](const PlannedRun& run) {
      return setting(run, rate, 0.001) == 0.01 && setting(run, embedding, 1) == 8 ? 1 : std::nan("");
    };
    if (tried == 6) {
      CHECK_FALSE(found(tuning_of(search, 6), all_but_one).ahead.has_value());
      CHECK(found(tuning_of(search, 6), all_but_one).alike == std::optional<std::size_t>(0));
    }
  }
  // Six seeds of either sign do not tell the multipliers apart.
  const auto either = [](const PlannedRun& run) {
    const double sign = run.seed % 2 == 0 ? 1 : -1;
    return bowl(0.01)(run) + (setting(run, embedding, 1) > 1 ? sign : -sign);
  };
  CHECK(found(tuning_of(jointly(6), 6), either).alike == std::optional<std::size_t>(1));
  // In turn, what was tried on the way may be better than the best of the last grid.
  const Flatness worse = found(tuning_of("search: in_turn", 2, "2, 8"),
                               [](const PlannedRun& run) { return bowl(0.01)(run) + setting(run, embedding, 1); });
  CHECK(*worse.ahead == doctest::Approx(0.01 + 1 - 0.005 - 2));
}

}  // namespace
