#include "experiments/study/study.hpp"

#include "autograd/error.hpp"

namespace surd {

const MetricSpec& Study::metric(const std::string& name) const {
  std::vector<std::string> names;
  for (const MetricSpec& spec : metrics) {
    if (spec.name == name) return spec;
    names.push_back(spec.name);
  }
  throw Error(fmt::format("no metric is called '{}'{}", name, did_you_mean(name, names)));
}

std::size_t Study::axis_index(const std::string& name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name == name) return i;
    names.push_back(axes[i].name);
  }
  throw Error(fmt::format("no axis is called '{}'{}", name, did_you_mean(name, names)));
}

std::vector<std::size_t> Study::select(const Selector& selector) const {
  std::vector<std::size_t> selected;
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    bool holds = true;
    for (const auto& [axis, level] : selector) {
      if (axis == "regime") continue;
      const std::size_t index = axis_index(axis);
      holds = holds && axes[index].levels[arms[arm].levels[index]].name == level;
    }
    if (holds) selected.push_back(arm);
  }
  return selected;
}

std::map<std::string, double> Study::numbers(std::size_t arm) const {
  std::map<std::string, double> numbers;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (const auto& value = axes[i].levels[arms.at(arm).levels[i]].value) numbers[axes[i].name] = *value;
  return numbers;
}

}  // namespace surd
