#include "experiments/study/execution/plan.hpp"

#include "autograd/base/random.hpp"
#include "experiments/config/read_scalar.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/execution/metric_value.hpp"
#include "experiments/study/metrics/evaluations.hpp"
#include "experiments/study/statistics/statistics.hpp"
#include "train/storage/hash.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace surd {
namespace {

constexpr double worst = std::numeric_limits<double>::infinity();

/// The text as part of a path: what no file system minds stays, and different names stay different.
std::string path_component(const std::string& text) { return percent_encoded(text, "._+-=()^,"); }

constexpr std::size_t cut_name = 200, longest_name = 255;  // bytes; no more is a name to most file systems

/// The beginning of a name, with room for a suffix, and `end`, so that names that are cut stay different.
std::string cut(const std::string& name, const std::string& end) {
  return fmt::format("{}~{}", name.substr(0, cut_name), end);
}

bool same_value(const std::string& a, const std::string& b) {
  const auto number = [](const std::string& text, double& value) {
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    return read.ec == std::errc() && read.ptr == end;
  };
  double x = 0, y = 0;
  return a == b || (number(a, x) && number(b, y) && x == y);
}

/// Whether the values of other settings, seed by seed, cannot be told from those of the settings chosen.
bool not_told_apart(const std::vector<double>& other, const std::vector<double>& chosen) {
  if (chosen.size() < statistics::fewest_seeds) {
    const auto [least, greatest] = std::minmax_element(other.begin(), other.end());
    const auto [chosen_least, chosen_greatest] = std::minmax_element(chosen.begin(), chosen.end());
    return *least <= *chosen_greatest && *greatest >= *chosen_least;
  }
  std::vector<double> differences;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    differences.push_back(other[i] == chosen[i] ? 0 : other[i] - chosen[i]);  // both may be infinite
  const double p = std::min(statistics::signed_rank_p_above(differences), statistics::signed_rank_p_below(differences));
  return 2 * p > statistics::significance;
}

/// The settings and the seed of a run, whether or not they change what the arm has.
std::string as_written(const PlannedRun& run) {
  std::string text = std::to_string(run.seed);
  for (const Change& change : run.settings) text += fmt::format("\n{}={}", change.key, change.value);
  return text;
}

/// Searches the settings of one arm.
class Search {
 public:
  Search(const Study& study, std::size_t arm, const KnownResults& known)
      : study_(study), arm_(arm), known_(known), metric_(study.metric(study.tuning->metric)) {}

  Tuned run() {
    if (!(study_.tuning->search == TuningSearch::jointly ? jointly() : in_turn())) return std::move(tuned_);
    tuned_.settings = chosen_;
    tuned_.done = true;
    tuned_.flatness = flatness();
    return std::move(tuned_);
  }

 private:
  bool in_turn() {
    const auto& axes = study_.tuning->axes;
    return std::all_of(axes.begin(), axes.end(), [this](const TuningAxis& axis) { return coordinate(axis); });
  }
  /// How good settings are, better the lower: the mean over the seeds of the metric, negated where higher is better;
  /// where that is the same, as of settings none of which reaches a target, the mean final loss.
  using Score = std::pair<double, double>;

  /// Which of these settings are best; of equally good ones the first. Nothing while some of the runs have not ended,
  /// or where none of them has a value. All runs are asked for, so that they can be made side by side.
  std::optional<std::size_t> best_of(const std::vector<std::vector<Change>>& all) {
    std::vector<Score> scores;
    bool complete = true;
    for (const std::vector<Change>& settings : all) {
      const auto found = score(settings);
      complete = complete && found.has_value();
      scores.push_back(found.value_or(Score(worst, worst)));
    }
    if (!complete) return std::nullopt;
    const auto best = std::min_element(scores.begin(), scores.end());
    tuned_.without_values = best->first == worst && unrecorded_;
    if (tuned_.without_values) return std::nullopt;
    return static_cast<std::size_t>(best - scores.begin());
  }

  /// Chooses among settings of all coordinates; false where it cannot yet.
  bool jointly() {
    const std::vector<std::vector<Change>> all = joint_settings(*study_.tuning);
    const auto best = best_of(all);
    if (!best) return false;
    chosen_ = all[*best];
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const std::vector<double>& grid = study_.tuning->axes[i].values;
      const std::string& value = chosen_[i].value;
      tuned_.at_edge = tuned_.at_edge ||
                       (grid.size() > 1 && (value == scalar_text(grid.front()) || value == scalar_text(grid.back())));
    }
    return true;
  }

  Flatness flatness() const {
    Flatness flat;
    flat.tried = values_.size();
    const std::vector<double>& chosen = values_of(chosen_);
    double next = worst;
    std::size_t alike = 0;
    for (const auto& [key, values] : values_) {
      if (key == key_of(chosen_)) continue;
      next = std::min(next, statistics::mean(values));
      alike += not_told_apart(values, chosen);
    }
    const double ahead = next - statistics::mean(chosen);
    if (std::isfinite(ahead)) flat.ahead = ahead;
    if (chosen.size() > 1) flat.alike = alike;
    return flat;
  }
  /// The same for settings that come to the same runs.
  std::string key_of(const std::vector<Change>& settings) const {
    return PlannedRun{arm_, settings, study_.tuning->seeds.front()}.id(study_);
  }

  /// Chooses the value of one coordinate, the smaller of equally good ones; false where it cannot yet.
  bool coordinate(const TuningAxis& axis) {
    std::vector<double> grid = axis.values;
    for (std::size_t extensions = 0;; ++extensions) {
      std::vector<std::vector<Change>> all;
      for (const double value : grid) all.push_back(with(axis, value));
      const auto best = best_of(all);
      if (!best) return false;
      const std::size_t last = grid.size() - 1;
      const auto alike = [&](std::size_t end) {
        const std::vector<double>& values = values_of(all[end]);
        return axis.grow_at == GrowAt::alike && std::isfinite(statistics::mean(values)) &&
               not_told_apart(values, values_of(all[*best]));
      };
      const bool at_edge = *best == 0 || *best == last;
      if ((!at_edge && !alike(0) && !alike(last)) || extensions == axis.extensions) {
        tuned_.at_edge = tuned_.at_edge || (at_edge && grid.size() > 1);
        chosen_ = all[*best];
        return true;
      }
      if (*best == 0 || (*best != last && alike(0)))
        grid.insert(grid.begin(), extended(grid[0], grid[1]));
      else
        grid.push_back(extended(grid[last], grid[last - 1]));
    }
  }

  const std::vector<double>& values_of(const std::vector<Change>& settings) const {
    return values_.at(key_of(settings));
  }

  std::vector<Change> with(const TuningAxis& axis, double value) const {
    std::vector<Change> settings = chosen_;
    settings.push_back({axis.key, scalar_text(value), axis.origin});
    return settings;
  }

  /// Nothing while a run has not ended.
  std::optional<Score> score(const std::vector<Change>& settings) {
    bool complete = true;
    std::vector<double> values, losses;
    for (const std::uint64_t seed : study_.tuning->seeds) {
      PlannedRun run{arm_, settings, seed};
      const std::string id = run.id(study_);
      tuned_.different_runs += counted_.insert(id).second;
      if (written_.insert(as_written(run)).second) tuned_.runs.push_back(std::move(run));
      const RunResult* result = known_(id);
      const bool failed = result != nullptr && result->status == RunResult::Status::failed;
      tuned_.failed = tuned_.failed || failed;
      complete = complete && result != nullptr && !failed;
      if (result == nullptr) continue;
      values.push_back(score(*result));
      losses.push_back(final_value(Measure::loss, *result).value_or(worst));
    }
    if (!complete) return std::nullopt;
    const Score found(statistics::mean(values), statistics::mean(losses));
    values_.emplace(key_of(settings), std::move(values));
    return found;
  }
  double score(const RunResult& result) {
    if (result.status != RunResult::Status::finished) return worst;
    const auto value = metric_value(study_, metric_, arm_, result);
    unrecorded_ = unrecorded_ || !value;
    if (!value || std::isnan(value->nearest())) return worst;
    return metric_.lower_is_better ? value->nearest() : -value->nearest();
  }

  const Study& study_;
  std::size_t arm_;
  const KnownResults& known_;
  const MetricSpec& metric_;
  std::vector<Change> chosen_;
  std::set<std::string> counted_;                      // runs, by id
  std::set<std::string> written_;                      // the same; more, as some are written in two ways
  std::map<std::string, std::vector<double>> values_;  // of settings that are complete, seed by seed; smaller is better
  bool unrecorded_ = false;                            // whether a finished run had no value of the metric
  Tuned tuned_;
};

}  // namespace

std::string PlannedRun::id(const Study& study) const {
  const Arm& own = study.arms.at(arm);
  std::string name, changed;
  for (std::size_t i = 0; i < study.axes.size(); ++i)
    name += fmt::format("{}{}={}", name.empty() ? "" : ",", path_component(study.axes[i].name),
                        path_component(study.axes[i].levels[own.levels[i]].name));
  for (const Change& change : settings) {
    const auto same = own.own.find(change.key);
    if (same != own.own.end() && same_value(same->second, change.value)) continue;
    changed +=
        fmt::format("{}{}={}", changed.empty() ? "" : ",", path_component(change.key), path_component(change.value));
  }
  if (name.size() > cut_name) name = cut(name, std::to_string(arm));
  if (changed.size() > longest_name) changed = cut(changed, hash_of(changed));
  return fmt::format("{}/{}seed-{}", name.empty() ? "alone" : name, changed.empty() ? "" : changed + "/", seed);
}

std::vector<std::vector<Change>> joint_settings(const Tuning& tuning) {
  const std::size_t product = tuning.product();
  std::set<std::size_t> drawn;  // each setting by its number, where the last axis runs fastest
  if (tuning.settings >= product) {
    for (std::size_t number = 0; number < product; ++number) drawn.insert(number);
  } else {
    random::Sequence draws(random::Stream(0, "tuning", "settings"));
    while (drawn.size() < tuning.settings) drawn.insert(static_cast<std::size_t>(draws.integer(product)));
  }
  std::vector<std::vector<Change>> all;
  for (std::size_t number : drawn) {
    std::vector<Change> settings(tuning.axes.size());
    for (std::size_t i = tuning.axes.size(); i-- > 0;) {
      const TuningAxis& axis = tuning.axes[i];
      settings[i] = {axis.key, scalar_text(axis.values[number % axis.values.size()]), axis.origin};
      number /= axis.values.size();
    }
    all.push_back(std::move(settings));
  }
  return all;
}

Tuned tuned(const Study& study, std::size_t arm, const KnownResults& known) {
  if (!study.tuning) return {};
  return Search(study, arm, known).run();
}

std::vector<PlannedRun> plan(const Study& study, const KnownResults& known) {
  std::vector<PlannedRun> runs;
  std::set<std::string> ids;
  const auto add = [&](PlannedRun run) {
    if (ids.insert(run.id(study)).second) runs.push_back(std::move(run));
  };
  if (!study.tuning || !study.tuning->only)
    for (const std::uint64_t seed : study.seeds)
      for (std::size_t arm = 0; arm < study.arms.size(); ++arm) add({arm, {}, seed});
  if (!study.tuning) return runs;
  for (std::size_t arm = 0; arm < study.arms.size(); ++arm) {
    const Tuned search = tuned(study, arm, known);
    for (const PlannedRun& run : search.runs) add(run);
    if (!search.done) continue;
    for (const std::uint64_t seed : study.seeds) add({arm, search.settings, seed});
  }
  return runs;
}

std::size_t runs_at_most(const Study& study) {
  std::size_t each = study.seeds.size();
  if (study.tuning) {
    const Tuning& tuning = *study.tuning;
    std::size_t settings = 0;
    if (tuning.search == TuningSearch::jointly)
      settings = std::min(tuning.settings, tuning.product());
    else
      for (const TuningAxis& axis : tuning.axes) settings += axis.values.size() + axis.extensions;
    each += settings * tuning.seeds.size() + (tuning.only ? 0 : study.seeds.size());
  }
  return each * study.arms.size();
}

}  // namespace surd
