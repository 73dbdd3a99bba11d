#include "experiments/study/file/study.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

namespace surd {

std::vector<std::uint64_t> Study::fresh_seeds(std::size_t count) const {
  std::set<std::uint64_t> used(seeds.begin(), seeds.end());
  if (tuning) used.insert(tuning->seeds.begin(), tuning->seeds.end());
  std::vector<std::uint64_t> fresh;  // after the largest there is comes 0
  for (std::uint64_t seed = *std::max_element(seeds.begin(), seeds.end()) + 1; fresh.size() < count; ++seed)
    if (used.insert(seed).second) fresh.push_back(seed);
  return fresh;
}

std::vector<std::string> names_of(TuningSearch) { return {"in_turn", "jointly"}; }
std::vector<std::string> names_of(GrowAt) { return {"best", "alike"}; }

double extended(double last, double before) {
  const double exact = last * (last / before);
  double rounded = exact;
  const std::string text = fmt::format("{:.3g}", exact);
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return (rounded > last) == (exact > last) && rounded != last ? rounded : exact;
}

std::vector<double> TuningAxis::extended_values() const {
  std::vector<double> all;
  if (values.size() < 2) return all;
  for (const bool up : {false, true}) {
    double last = up ? values.back() : values.front();
    double before = up ? values[values.size() - 2] : values[1];
    for (std::size_t i = 0; i < extensions; ++i) {
      before = std::exchange(last, extended(last, before));
      all.push_back(last);
    }
  }
  return all;
}

const TuningAxis* Tuning::rates() const {
  for (const TuningAxis& axis : axes)
    if (axis.key == "optimizer.learning_rate") return &axis;
  return nullptr;
}

std::size_t Tuning::product() const {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  std::size_t settings = 1;
  for (const TuningAxis& axis : axes) {
    const std::size_t values = axis.values.size();
    settings = values > 0 && settings > most / values ? most : settings * values;
  }
  return settings;
}

std::vector<std::string> Study::metric_names() const {
  std::vector<std::string> names;
  for (const MetricSpec& spec : metrics) names.push_back(spec.name);
  return names;
}

std::vector<std::string> Study::axis_names() const {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  return names;
}

const MetricSpec& Study::metric(const std::string& name) const {
  for (const MetricSpec& spec : metrics)
    if (spec.name == name) return spec;
  throw Error(fmt::format("study: there is no metric '{}'{}", name, did_you_mean(name, metric_names())));
}

std::size_t Study::axis_index(const std::string& name) const {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name) return i;
  throw Error(fmt::format("study: there is no axis '{}'{}", name, did_you_mean(name, axis_names())));
}

bool Study::fits(const std::vector<std::size_t>& levels, const Selector& selector) const {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& wanted) {
    if (wanted.first == "regime") return true;
    const std::size_t axis = axis_index(wanted.first);
    return axes[axis].levels[levels[axis]].name == wanted.second;
  });
}

std::vector<std::size_t> Study::select(const Selector& selector) const {
  std::vector<std::size_t> selected;
  for (std::size_t i = 0; i < arms.size(); ++i)
    if (fits(arms[i].levels, selector)) selected.push_back(i);
  return selected;
}

Selector Study::levels_beside(std::size_t arm, const std::vector<std::size_t>& but) const {
  Selector levels;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (std::find(but.begin(), but.end(), i) == but.end())
      levels[axes[i].name] = axes[i].levels[arms[arm].levels[i]].name;
  return levels;
}

std::map<std::string, double> Study::numbers(std::size_t arm) const {
  std::map<std::string, double> numbers;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (const auto& value = axes[i].levels[arms.at(arm).levels[i]].value) numbers[axes[i].name] = *value;
  return numbers;
}

ConfigFile Study::config_file(std::size_t arm, const std::vector<Change>& more, std::uint64_t seed) const {
  YamlDocument document = base;
  for (const Change& change : arms.at(arm).set) document.set(change.key, change.value, change.origin);
  for (const Change& change : more) document.set(change.key, change.value, change.origin);
  document.set("seed", std::to_string(seed), base.root().origin);
  return ConfigFile(std::move(document));
}

RunConfig Study::config(std::size_t arm, const std::vector<Change>& more, std::uint64_t seed) const {
  return config_file(arm, more, seed).config;
}

}  // namespace surd
