#include "experiments/config/read_scalar.hpp"
#include "experiments/study/file/study_reader.hpp"

#include <algorithm>
#include <numeric>

namespace surd {
namespace {

constexpr std::size_t most_seeds = 10'000;

}  // namespace

StudyReader::Seeds StudyReader::seeds(const RawYaml& raw, const std::string& path, std::uint64_t first,
                                      std::size_t fallback) {
  Seeds seeds;
  std::size_t count = fallback;
  if (raw.node && raw.node->kind == YamlNode::Kind::list) {
    for (const YamlNode& child : raw.node->children) {
      std::size_t seed = 0;
      if (const Complaint complaint = read_scalar(child, {}, seed))
        add(child.origin, path, *complaint);
      else if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end())
        add(child.origin, path, fmt::format("{} stands there twice; remove one", seed));
      else
        seeds.push_back(seed);
    }
    require(!raw.node->children.empty() && raw.node->children.size() <= most_seeds, raw.node->origin, path,
            fmt::format("must be 1 to {} seeds; got {}", most_seeds, raw.node->children.size()));
    return seeds;
  }
  if (raw.node) {
    if (const Complaint complaint = read_scalar(*raw.node, between(1, most_seeds), count))
      add(raw.node->origin, path, *complaint + "; it may also be a list of seeds");
  }
  seeds.resize(count);
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

std::vector<double> StudyReader::rising_numbers(const RawYaml& raw, const std::string& path) {
  std::vector<double> numbers;
  if (!raw.node) return numbers;
  if (raw.node->kind != YamlNode::Kind::list || raw.node->children.empty())
    add(raw.node->origin, path, fmt::format("must be a list of numbers; got {}", raw.node->described()));
  for (const YamlNode& child : raw.node->children) {
    double number = 0;
    if (const Complaint complaint = read_scalar(child, {}, number))
      add(child.origin, path, *complaint);
    else if (!numbers.empty() && number <= numbers.back())
      add(child.origin, path, fmt::format("must rise; {} follows {}", number, numbers.back()));
    else
      numbers.push_back(number);
  }
  return numbers;
}

void StudyReader::read_tuning(Study& study) {
  const YamlNode* node = root_.find("tuning");
  if (node == nullptr || node->kind != YamlNode::Kind::mapping) return;
  const TuningFields& fields = fields_.tuning;
  Tuning tuning{
      fields.metric, seeds(fields.seeds, "tuning.seeds", 1001, 3), {}, fields.search, fields.settings.value_or(0),
      fields.only};
  if (source_.quick && fields_.quick.tuning_seeds.node)
    tuning.seeds = seeds(fields_.quick.tuning_seeds, "quick.tuning_seeds", 1001, 1);
  for (const std::uint64_t seed : tuning.seeds)
    require(std::find(study.seeds.begin(), study.seeds.end(), seed) == study.seeds.end(), node->key_origin,
            "tuning.seeds",
            fmt::format("{} is a seed of the study too; what is tuned on it would be measured on it", seed));
  Names keys, names;
  for (std::size_t i = 0; i < fields.axes.size(); ++i) {
    const TuningAxisFields& axis = fields.axes[i];
    const std::string path = fmt::format("tuning.axes[{}]", i);
    const YamlNode* list = node->find("axes");
    const Origin origin = list != nullptr && i < list->children.size() ? list->children[i].origin : node->origin;
    TuningAxis read{axis.name,       axis.key,     rising_numbers(axis.values, path + ".values"),
                    axis.extensions, axis.grow_at, origin};
    const bool asked = !source_.begun && axis.extensions > 0 && list != nullptr && i < list->children.size() &&
                       list->children[i].find("extensions") != nullptr;
    const bool single = read.values.size() == 1, jointly = tuning.search == TuningSearch::jointly;
    const bool alike = axis.grow_at == GrowAt::alike;
    for (const auto& [growth_asked, key] : {std::pair(asked, "extensions"), std::pair(alike, "grow_at")}) {
      require(!growth_asked || !jointly, origin, fmt::format("{}.{}", path, key),
              "grids do not grow where search is jointly; remove it, or widen the values");
      require(!growth_asked || !single || jointly, origin, fmt::format("{}.{}", path, key),
              "a grid grows by the ratio of two of its values, and this one has one; remove it, or give more values");
    }
    require(!alike || tuning.seeds.size() > 1 || source_.quick, origin, path + ".grow_at",
            "one seed tells nothing apart; give the tuning more seeds, or remove it");
    if (single || jointly) read.extensions = 0;
    require(read.extensions == 0 || read.values.empty() || read.values.front() > 0, origin, path + ".values",
            "must be above 0 to be extended by their ratio; or set extensions: 0");
    expect_one_line(read.name, origin, path + ".name");
    require(!includes(names, read.name) || read.name.empty(), origin, path + ".name",
            fmt::format("another axis of the tuning is called '{}' already; rename one", shown(read.name)));
    require(!includes(keys, read.key), origin, path + ".key",
            fmt::format("'{}' is tuned already; remove one", shown(read.key)));
    require(read.key != "seed", origin, path + ".key", "the runs have the tuning's seeds; tune something else");
    keys.push_back(read.key);
    names.push_back(read.name);
    tuning.axes.push_back(std::move(read));
  }
  require(!tuning.axes.empty(), node->key_origin, "tuning.axes",
          "must have at least one axis; add one, or remove tuning");
  constexpr std::size_t most = 1'000'000'000;
  require(tuning.search == TuningSearch::in_turn || tuning.product() <= most, node->key_origin, "tuning.axes",
          "the product of the grids has more than a billion settings; take fewer values, or search in_turn");
  study.tuning = std::move(tuning);
}

}  // namespace surd
