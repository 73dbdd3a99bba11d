#include "experiments/config/read_scalar.hpp"
#include "experiments/config/settings.hpp"
#include "experiments/run/experiment.hpp"
#include "experiments/study/file/study_reader.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace surd {
namespace {

constexpr std::size_t most_arms = 1000;
constexpr std::size_t most_combinations = 100'000;  // of which `without` leaves out all but most_arms

}  // namespace

void StudyReader::collect(const ConfigError& error) {
  for (const Problem& problem : error.problems())
    if (told_.insert(problem.text()).second) problems_.push_back(problem);
}

/// Whether a level sets what its key does not take. That is told at the level: who names a level that there is not, but
/// would be were the value right, is not to blame.
bool StudyReader::wrong_levels(const Study& study) {
  if (!arms_made_ || wrong_levels_.has_value()) return wrong_levels_.value_or(false);
  const std::size_t before = problems_.size();
  for (std::size_t arm = 0; arm < study.arms.size(); ++arm) {
    try {
      static_cast<void>(study.config(arm, {}, study.seeds.front()));
    } catch (const ConfigError& error) {
      collect(error);
    }
  }
  wrong_levels_ = problems_.size() > before;
  return *wrong_levels_;
}

void StudyReader::read_without(const Study& study) {
  if (!fields_.without.node || !axes_read()) return;
  const YamlNode& list = *fields_.without.node;
  if (list.kind != YamlNode::Kind::list || list.children.empty())
    return add(list.origin, "without",
               fmt::format("must be a list of mappings of levels by axis, such as [{{alpha: one, tie: all}}]; got {}",
                           list.kind == YamlNode::Kind::list ? "an empty list" : list.described()));
  const std::size_t before = problems_.size();
  for (std::size_t i = 0; i < list.children.size(); ++i) {
    const YamlNode& entry = list.children[i];
    const std::string path = fmt::format("without[{}]", i);
    require(entry.kind != YamlNode::Kind::mapping || !entry.children.empty(), entry.origin, path,
            "must name a level or more; this would leave out every arm");
    if (const YamlNode* regime = entry.find("regime"))
      add(regime->key_origin, path, "regime is no axis of the arms; remove it");
    else
      check_selector(entry, study, path);
    Selector selector;
    for (const YamlNode& level : entry.children) selector[level.key] = level.text;
    without_.push_back(std::move(selector));
  }
  if (problems_.size() > before) without_.clear();
}

void StudyReader::make_arms(Study& study) {
  std::size_t count = 1;
  const std::size_t most = without_.empty() ? most_arms : most_combinations;
  for (const Axis& axis : study.axes)
    if (count <= most) count *= axis.levels.size();  // a larger product might not fit into the type
  study.arms.clear();
  left_out_.assign(without_.size(), 0);
  for (std::size_t i = 0; count <= most && study.arms.size() <= most_arms && i < count; ++i) {
    Arm arm;
    std::size_t rest = i, beneath = count;
    for (const Axis& axis : study.axes) {  // the last axis varies fastest
      beneath /= axis.levels.size();
      arm.levels.push_back(rest / beneath);
      rest %= beneath;
    }
    const auto left_out = std::find_if(without_.begin(), without_.end(),
                                       [&](const Selector& selector) { return study.fits(arm.levels, selector); });
    if (left_out != without_.end()) {
      ++left_out_[static_cast<std::size_t>(left_out - without_.begin())];
      continue;
    }
    for (std::size_t axis = 0; axis < study.axes.size(); ++axis) {
      const Level& level = study.axes[axis].levels[arm.levels[axis]];
      arm.name += fmt::format("{}{}={}", arm.name.empty() ? "" : ", ", study.axes[axis].name, level.name);
      arm.set.insert(arm.set.end(), level.set.begin(), level.set.end());
    }
    if (study.axes.empty()) arm.name = "alone";
    arm.set.insert(arm.set.end(), set_.begin(), set_.end());
    study.arms.push_back(std::move(arm));
  }
  const bool many = study.arms.size() > most_arms;
  require(!many && count <= most, element("axes", 0), "axes",
          fmt::format("their levels make more than {} {}; remove some", many ? most_arms : most,
                      many || without_.empty() ? "arms" : "combinations"));
  if (many) study.arms.clear();
  std::set<std::string> folders;  // of the runs of an arm, whose names are joined by commas
  for (const Arm& arm : problems_.empty() ? study.arms : std::vector<Arm>()) {
    std::string folder;
    for (std::size_t axis = 0; axis < study.axes.size(); ++axis)
      folder += fmt::format("{}={},", study.axes[axis].name, study.axes[axis].levels[arm.levels[axis]].name);
    require(
        folders.insert(folder).second, element("axes", 0), "axes",
        fmt::format("two arms would have the same folder, '{}'; leave ',' and '=' out of the names of levels", folder));
  }
  for (std::size_t arm = 0; arm < study.arms.size(); ++arm)
    for (Change& change : study.arms[arm].set)
      if (change.formula) compute(change, study, arm);
}

/// Complains where an entry of `without` leaves out nothing, or all of them leave no arm, or none of a level.
void StudyReader::check_without(const Study& study) {
  if (without_.empty() || !problems_.empty()) return;
  const YamlNode& list = *fields_.without.node;
  for (std::size_t i = 0; i < without_.size(); ++i)
    require(left_out_[i] > 0, list.children[i].origin, fmt::format("without[{}]", i),
            "fits no arm that the entries before it do not leave out; remove it");
  if (study.arms.empty()) return add(list.origin, "without", "leaves no arm; remove an entry");
  for (const Axis& axis : study.axes)
    for (const Level& level : axis.levels)
      require(!study.select({{axis.name, level.name}}).empty(), list.origin, "without",
              fmt::format("leaves no arm with level '{}' of axis '{}'; remove the level itself", shown(level.name),
                          axis.name));
}

void StudyReader::apply_quick(Study& study) {
  if (!fields_.quick.levels.node || !axes_read()) return;
  Study cut = study;  // so that a mistake in quick.levels is told without --quick too
  keep_levels(cut);
  if (study.arms.empty()) return;  // which is told
  make_arms(cut);
  require(!cut.arms.empty(), fields_.quick.levels.node->origin, "quick.levels",
          "keeps no arm: 'without' leaves out every one of them");
  if (!study.quick) return;
  const auto known = [&](const Selector& side, const Selector& more) {
    return !cut.select(narrowed(side, more)).empty();
  };
  const auto gone = [&](const Hypothesis& h) {
    return !known(h.arm, h.under) || !known(h.against, h.under) || !known(h.arm, h.versus) ||
           !known(h.against, h.versus);
  };
  cut.hypotheses.erase(std::remove_if(cut.hypotheses.begin(), cut.hypotheses.end(), gone), cut.hypotheses.end());
  study = std::move(cut);
}

/// What --quick makes of the study has to hold as well. With --set it need not: settings may go with one alone.
void StudyReader::check_quick() {
  if (source_.quick || source_.begun || !source_.settings.empty() || root_.find("quick") == nullptr) return;
  StudySource quick = source_;
  quick.quick = true;
  try {
    static_cast<void>(StudyReader(quick).read());
  } catch (const ConfigError& error) {
    collect(error);
  }
}

void StudyReader::keep_levels(Study& study) {
  const YamlNode& node = *fields_.quick.levels.node;
  if (node.kind != YamlNode::Kind::mapping)
    return add(node.origin, "quick.levels", fmt::format("must be a mapping of lists; got {}", node.described()));
  for (const YamlNode& child : node.children) {
    const auto axis =
        std::find_if(study.axes.begin(), study.axes.end(), [&](const Axis& a) { return a.name == child.key; });
    if (axis == study.axes.end()) {
      add(child.key_origin, "quick.levels",
          fmt::format("there is no axis '{}'{}", shown(child.key), did_you_mean(child.key, study.axis_names())));
      continue;
    }
    std::vector<Level> kept;
    for (const YamlNode& name : child.children) {
      const auto level =
          std::find_if(axis->levels.begin(), axis->levels.end(), [&](const Level& l) { return l.name == name.text; });
      const bool again = std::any_of(kept.begin(), kept.end(), [&](const Level& l) { return l.name == name.text; });
      if (again)
        add(name.origin, "quick.levels", fmt::format("{} stands there twice; remove one", name.described()));
      else if (level != axis->levels.end())
        kept.push_back(*level);
      else if (!wrong_levels(study))
        add(name.origin, "quick.levels", fmt::format("axis '{}' has no level {}", axis->name, name.described()));
    }
    require(!child.children.empty() || wrong_levels_.value_or(false), child.origin, "quick.levels",
            fmt::format("must be a list of levels of '{}', one or more; got {}", axis->name, child.described()));
    if (!kept.empty()) axis->levels = std::move(kept);
  }
}

void StudyReader::resolve_arms(Study& study) {
  std::map<std::string, std::string> arms;   // name of an arm by its config
  std::map<std::string, std::string> tuned;  // and by what it is where all have the same tuned settings
  for (std::size_t i = 0; i < study.arms.size(); ++i) {
    Arm& arm = study.arms[i];
    try {
      const RunConfig config = study.config(i, {}, study.seeds.front());
      const auto [same, fresh] = arms.emplace(to_yaml(config), arm.name);
      const std::size_t by_levels = arm.set.size() - set_.size();
      require(fresh, by_levels == 0 ? element("axes", 0) : arm.set[by_levels - 1].origin, "",
              fmt::format("the arms '{}' and '{}' have the same config, so they cannot be compared; let a level set "
                          "what makes them differ, or remove one",
                          same->second, arm.name));
      check_start(study, i, config);
      if (!study.tuning) continue;
      std::vector<Change> equal;
      for (const TuningAxis& axis : study.tuning->axes)
        equal.push_back({axis.key, scalar_text(axis.values.front()), axis.origin});
      const auto [twin, differs] = tuned.emplace(to_yaml(study.config(i, equal, study.seeds.front())), arm.name);
      require(
          differs, by_levels == 0 ? element("axes", 0) : arm.set[by_levels - 1].origin, "",
          fmt::format("the arms '{}' and '{}' differ in what is tuned alone, so tuned they are the same; remove the "
                      "axis, or its key from the tuning",
                      twin->second, arm.name));
      const Settings own = settings_of(config);
      for (const TuningAxis& axis : study.tuning->axes) {
        if (const auto found = own.find(axis.key); found != own.end()) arm.own[axis.key] = found->second;
        for (const double value : {axis.values.front(), axis.values.back()})
          static_cast<void>(study.config(i, {{axis.key, scalar_text(value), axis.origin}}, study.seeds.front()));
      }
    } catch (const ConfigError& error) {
      collect(error);
    }
  }
  // Of one that was begun it is too late: it may never come to that, and its runs are there.
  if (!problems_.empty() || source_.begun) return;
  check_settings(study);
  if (study.tuning) check_extensions(study);
}

/// Complains where --set sets what every arm sets, over the base: it would have no effect.
void StudyReader::check_settings(const Study& study) {
  for (const std::string& setting : source_.settings) {
    const std::string key = setting.substr(0, setting.find('='));
    const auto sets = [&](const Change& change) {
      if (change.key == key) return true;
      if (key.rfind(change.key + ".", 0) != 0) return false;
      const YamlDocument value = YamlDocument::parse("value: " + change.value, "");  // maybe a mapping
      return settings_of(value.root()).count("value" + key.substr(change.key.size())) > 0;
    };
    const auto arm_sets = [&](const Arm& arm) { return std::any_of(arm.set.begin(), arm.set.end(), sets); };
    require(!std::all_of(study.arms.begin(), study.arms.end(), arm_sets), {"--set " + setting, 0, 0, 0}, key,
            fmt::format("every arm of {} sets it itself; leave the option out, or change the study",
                        source_.file.string()));
  }
}

/// Complains where extending a grid of the tuning would come to a value that its key does not take. That would show
/// after hours, as failed runs without which nothing can be chosen.
void StudyReader::check_extensions(const Study& study) {
  for (std::size_t i = 0; i < study.tuning->axes.size(); ++i) {
    const TuningAxis& axis = study.tuning->axes[i];
    const auto refusal = [&](double value) -> std::string {
      for (std::size_t arm = 0; arm < study.arms.size(); ++arm) {
        try {
          static_cast<void>(study.config(arm, {{axis.key, scalar_text(value), axis.origin}}, study.seeds.front()));
        } catch (const ConfigError& error) {
          const Problem& first = error.problems().front();
          return fmt::format("where {} {}", first.path.empty() ? axis.key : first.path, first.message);
        }
      }
      return "";
    };
    for (const double value : axis.extended_values()) {
      const std::string why = refusal(value);
      if (why.empty()) continue;
      add(axis.origin, fmt::format("tuning.axes[{}].values", i),
          fmt::format("by its own ratio the grid of '{}' can be extended to {}, {}; set extensions: 0, or change the "
                      "grid",
                      shown(axis.name), scalar_text(value), why));
      break;
    }
  }
}

void StudyReader::check_start(const Study& study, std::size_t arm, const RunConfig& config) {
  if (config.train.minutes && told_.insert("train.minutes").second)
    add(study.base.root().origin, "base.train.minutes",
        "makes runs end at updates that depend on the machine; remove it, and set train.updates");
  const bool evaluated = config.train.evaluate_at_start;
  for (const MetricSpec& metric : study.metrics) {
    const auto told = [&](const std::string& text) {
      const Problem problem{
          metric.origin, metric.name,
          fmt::format("{} {}, which arm '{}' does not have", metric.kind, text, study.arms[arm].name)};
      if (told_.insert(problem.text().substr(0, problem.text().find(", which arm"))).second)
        problems_.push_back(problem);
    };
    if (metric.metric->needs_start() && !evaluated) told("needs train.evaluate_at_start: true");
    const std::string split = metric.metric->needs_split();
    if (!split.empty() && !includes(config.train.evaluate_splits, split))
      told(fmt::format("needs {} among train.evaluate_splits, e.g. [{}]", shown(split), shown(split)));
    if (metric.metric->probed() != nullptr && config.probe.every == 0) told("needs probe.every above 0");
    if (const std::string need = metric.metric->needs_of_config(config); !need.empty()) told(need);
    const std::size_t apart = metric.metric->log_every_at_most();
    if (apart > 0 && config.train.log_every > apart) told(fmt::format("needs train.log_every of at most {}", apart));
  }
}

void check_experiments(const Study& study) {
  std::vector<Problem> problems;
  std::set<std::string> told;
  for (std::size_t i = 0; i < study.arms.size(); ++i) {
    try {
      const Experiment experiment(study.config_file(i, {}, study.seeds.front()));
    } catch (const ConfigError& error) {
      for (const Problem& problem : error.problems())
        if (told.insert(problem.text()).second) problems.push_back(problem);
    }
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

}  // namespace surd
