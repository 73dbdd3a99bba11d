#include "experiments/study/file/claims.hpp"
#include "experiments/study/file/study_reader.hpp"
#include "experiments/study/statistics/formula.hpp"

#include <algorithm>

namespace surd {
namespace {

std::vector<std::string> names_of_axes(const Study& study) {
  std::vector<std::string> names;
  for (const Axis& axis : study.axes) names.push_back(axis.name);
  return names;
}

std::vector<std::string> names_of_metrics(const Study& study) {
  std::vector<std::string> names;
  for (const MetricSpec& metric : study.metrics) names.push_back(metric.name);
  return names;
}

bool includes(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string not_among(const std::string& name, const std::vector<std::string>& names) {
  const std::string guess = did_you_mean(name, names);
  if (!guess.empty()) return guess;
  return names.empty() ? "; there are none" : fmt::format("; there are {}", fmt::join(names, ", "));
}

using Kind = MetricSpec::Kind;

bool of_evaluations(Kind kind) {
  return kind == Kind::final_value || kind == Kind::best_value || kind == Kind::initial_value ||
         kind == Kind::updates_to || kind == Kind::rate_sensitivity;
}
bool of_tuning(Kind kind) { return kind == Kind::rate_sensitivity || kind == Kind::largest_stable_rate; }

/// What `expect` may say, the default first.
std::vector<std::string> expectations(Hypothesis::Kind kind) {
  switch (kind) {
    case Hypothesis::Kind::difference:
    case Hypothesis::Kind::interaction: return {"", "lower", "higher"};
    case Hypothesis::Kind::value:
    case Hypothesis::Kind::slope: return {"within", "at_most", "at_least"};
    case Hypothesis::Kind::identical: return {"same", "different"};
    case Hypothesis::Kind::equivalence: break;
  }
  return {""};
}

/// A metric in whose formula `from` stands, directly or through others, and that stands in that of `from`; "" if none.
std::string circle_from(const Study& study, const std::string& from, const std::string& at, std::size_t depth) {
  for (const MetricSpec& metric : study.metrics) {
    if (metric.name != at || metric.kind != Kind::expression || depth > study.metrics.size()) continue;
    for (const std::string& name : names_in_formula(metric.formula))
      if (name == from || !circle_from(study, from, name, depth + 1).empty()) return name;
  }
  return "";
}

/// Whether a formula has a '=' that compares nothing, which muParser takes for an assignment, or a comma outside of
/// brackets.
bool assigns(const std::string& formula) {
  int depth = 0;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    const char before = i > 0 ? formula[i - 1] : ' ', after = i + 1 < formula.size() ? formula[i + 1] : ' ';
    depth += formula[i] == '(' ? 1 : formula[i] == ')' ? -1 : 0;
    if (formula[i] == ',' && depth == 0) return true;
    if (formula[i] == '=' && after != '=' && std::string("=<>!").find(before) == std::string::npos) return true;
  }
  return false;
}

}  // namespace

void StudyReader::read_metrics(Study& study) {
  Names names;
  for (std::size_t i = 0; i < fields_.metrics.size(); ++i) {
    const MetricFields& fields = fields_.metrics[i];
    const std::string path = fmt::format("metrics[{}]", i);
    const Origin origin = element("metrics", i);
    check_metric(fields, study, origin, path);
    MetricSpec metric;
    metric.name = fields.name;
    metric.kind = fields.kind;
    metric.of = fields.of;
    metric.target = fields.target.value_or(0);
    metric.path = fields.path;
    metric.what = fields.what;
    metric.statistic = fields.kind == Kind::gradient_norm && fields.statistic.empty() ? "median" : fields.statistic;
    metric.at = fields.at;
    metric.formula = fields.formula;
    metric.unit = fields.unit;
    const YamlNode* list = root_.find("metrics");
    const bool said = list != nullptr && i < list->children.size() && list->children[i].find("lower_is_better");
    const bool share = of_evaluations(fields.kind) && fields.kind != Kind::updates_to &&
                       (fields.of == "token_accuracy" || fields.of == "sequence_accuracy");
    metric.lower_is_better = said ? fields.lower_is_better : !share && fields.kind != Kind::largest_stable_rate;
    metric.origin = origin;
    study.metrics.push_back(std::move(metric));
    names.push_back(fields.name);
  }
  expect_unique(names, "metrics", "metric");
  if (!study.tuning) return;
  const Origin origin = root_.find("tuning")->key_origin;
  const auto found = std::find(names.begin(), names.end(), study.tuning->metric);
  if (study.tuning->metric.empty())
    add(origin, "tuning.metric", "is required" + not_among("", names));
  else if (found == names.end())
    add(origin, "tuning.metric",
        fmt::format("there is no metric '{}'{}", shown(study.tuning->metric), not_among(study.tuning->metric, names)));
  else
    require(!of_tuning(study.metrics[static_cast<std::size_t>(found - names.begin())].kind), origin, "tuning.metric",
            "is found from the tuning itself; name one that a single run has");
}

void StudyReader::check_metric(const MetricFields& fields, const Study& study, const Origin& origin,
                               const std::string& path) {
  expect_name(fields.name, origin, path + ".name");
  require(!includes(names_of_axes(study), fields.name), origin, path + ".name",
          fmt::format("an axis is called '{}' already; rename one", shown(fields.name)));
  const auto one_of = [&](const char* key, const std::string& value, const Names& allowed) {
    require(includes(allowed, value), origin, fmt::format("{}.{}", path, key),
            fmt::format("must be one of {}; got '{}'{}", fmt::join(allowed, ", "), shown(value),
                        did_you_mean(value, allowed)));
  };
  const auto needed = [&](const char* key, bool written) {
    require(written, origin, fmt::format("{}.{}", path, key),
            fmt::format("is required where kind is {}", name_of(fields.kind)));
  };
  if (of_evaluations(fields.kind))
    one_of("of", fields.of, {"loss", "perplexity", "token_accuracy", "sequence_accuracy"});
  if (fields.kind == Kind::updates_to) needed("target", fields.target.has_value());
  if (fields.kind == Kind::gradient_norm && !fields.statistic.empty())
    one_of("statistic", fields.statistic, {"median", "mean", "max"});
  if (fields.kind == Kind::probe) {
    needed("path", !fields.path.empty());
    needed("what", !fields.what.empty());
    needed("statistic", !fields.statistic.empty());
    one_of("at", fields.at, {"first", "last", "mean", "max"});
  }
  if (fields.kind == Kind::expression) needed("formula", !fields.formula.empty());
  require(!of_tuning(fields.kind) || study.tuning, origin, path + ".kind",
          fmt::format("{} is found from the tuning, and the study has none", name_of(fields.kind)));
}

void StudyReader::read_hypotheses(Study& study) {
  Names names;
  for (std::size_t i = 0; i < fields_.hypotheses.size(); ++i) {
    const HypothesisFields& fields = fields_.hypotheses[i];
    const std::string path = fmt::format("hypotheses[{}]", i);
    Hypothesis hypothesis;
    hypothesis.name = fields.name;
    hypothesis.claim = fields.claim;
    hypothesis.contradicts = fields.contradicts;
    hypothesis.kind = fields.kind;
    hypothesis.metric = fields.metric;
    hypothesis.regime = fields.regime;
    hypothesis.arm = selector(fields.arm, study, path + ".arm");
    hypothesis.against = selector(fields.against, study, path + ".against");
    hypothesis.under = selector(fields.under, study, path + ".under");
    hypothesis.versus = selector(fields.versus, study, path + ".versus");
    hypothesis.expect = fields.expect.empty() ? expectations(fields.kind).front() : fields.expect;
    hypothesis.margin = fields.margin;
    hypothesis.over = fields.over;
    hypothesis.formula = fields.formula;
    hypothesis.tolerance = fields.tolerance;
    hypothesis.relative = fields.relative;
    hypothesis.origin = element("hypotheses", i);
    check_hypothesis(hypothesis, study, path);
    names.push_back(fields.name);
    study.hypotheses.push_back(std::move(hypothesis));
  }
  expect_unique(names, "hypotheses", "hypothesis");
  check_claims(study);
  check_formulas(study);
}

void StudyReader::check_claims(const Study& study) {
  for (const std::size_t claim : study.claims) {
    const Origin& origin = fields_.claims.node->origin;
    require(!claim_text(claim).empty(), origin, "claims",
            fmt::format("there is no claim {}; docs/studies.md lists them, and a study needs none", claim));
  }
}

void StudyReader::check_formulas(const Study& study) {
  Names numbers = {"V"};
  for (const Axis& axis : study.axes)
    if (std::all_of(axis.levels.begin(), axis.levels.end(), [](const Level& level) { return level.value.has_value(); }))
      numbers.push_back(axis.name);
  Names all = numbers;
  for (const MetricSpec& metric : study.metrics) all.push_back(metric.name);
  const auto check = [&](const std::string& formula, const Names& known, const Origin& origin,
                         const std::string& path) {
    require(!assigns(formula), origin, path, "must be one expression, without '=' and without ',' outside of brackets");
    try {
      for (const std::string& name : names_in_formula(formula))
        require(includes(known, name), origin, path,
                fmt::format("the formula has no number called '{}'{}", shown(name), not_among(name, known)));
    } catch (const Error& error) {
      add(origin, path, error.what());
    }
  };
  for (std::size_t i = 0; i < study.metrics.size(); ++i) {
    const MetricSpec& metric = study.metrics[i];
    if (metric.kind == Kind::expression && !metric.formula.empty())
      check(metric.formula, all, metric.origin, fmt::format("metrics[{}].formula", i));
  }
  for (std::size_t i = 0; problems_.empty() && i < study.metrics.size(); ++i)
    require(circle_from(study, study.metrics[i].name, study.metrics[i].name, 0).empty(), study.metrics[i].origin,
            fmt::format("metrics[{}].formula", i), "leads back to the metric itself");
  for (std::size_t i = 0; i < study.hypotheses.size(); ++i) {
    const Hypothesis& hypothesis = study.hypotheses[i];
    if (!hypothesis.formula.empty())
      check(hypothesis.formula, numbers, hypothesis.origin, fmt::format("hypotheses[{}].formula", i));
  }
}

void StudyReader::check_hypothesis(const Hypothesis& hypothesis, const Study& study, const std::string& path) {
  const auto check = [&](bool holds, const char* key, std::string message) {
    require(holds, hypothesis.origin, fmt::format("{}.{}", path, key), std::move(message));
  };
  const std::string kind = name_of(hypothesis.kind);
  check(hypothesis.claim == 0 ||
            std::find(study.claims.begin(), study.claims.end(), hypothesis.claim) != study.claims.end(),
        "claim", fmt::format("{} is none of the study's claims; add it to 'claims'", hypothesis.claim));
  if (hypothesis.kind != Hypothesis::Kind::identical) {
    const Names metrics = names_of_metrics(study);
    check(!hypothesis.metric.empty(), "metric", "is required" + not_among("", metrics));
    check(hypothesis.metric.empty() || includes(metrics, hypothesis.metric), "metric",
          fmt::format("there is no metric '{}'{}", shown(hypothesis.metric), not_among(hypothesis.metric, metrics)));
  }
  check(hypothesis.regime == Regime::shared || study.tuning, "regime",
        "is tuned, and the study has no tuning; add 'tuning', or make it shared");
  const Names allowed = expectations(hypothesis.kind);
  if (hypothesis.kind == Hypothesis::Kind::difference || hypothesis.kind == Hypothesis::Kind::interaction)
    check(!hypothesis.expect.empty(), "expect", fmt::format("is required where kind is {}: lower or higher", kind));
  check(includes(allowed, hypothesis.expect) || hypothesis.expect.empty(), "expect",
        fmt::format("must be one of {} where kind is {}; got '{}'{}",
                    fmt::join(allowed.begin() + (allowed.front().empty() ? 1 : 0), allowed.end(), ", "), kind,
                    shown(hypothesis.expect), did_you_mean(hypothesis.expect, allowed)));
  const bool formula = hypothesis.kind == Hypothesis::Kind::value || hypothesis.kind == Hypothesis::Kind::slope;
  check(!formula || !hypothesis.formula.empty(), "formula", fmt::format("is required where kind is {}", kind));
  check(hypothesis.kind != Hypothesis::Kind::equivalence || hypothesis.margin > 0, "margin",
        "is required where kind is equivalence: the largest difference of no interest");
  if (hypothesis.kind == Hypothesis::Kind::slope) {
    const auto axis =
        std::find_if(study.axes.begin(), study.axes.end(), [&](const Axis& a) { return a.name == hypothesis.over; });
    check(axis != study.axes.end(), "over",
          fmt::format("there is no axis '{}'{}", shown(hypothesis.over),
                      not_among(hypothesis.over, names_of_axes(study))));
    check(axis == study.axes.end() || std::all_of(axis->levels.begin(), axis->levels.end(),
                                                  [](const Level& level) { return level.value && *level.value > 0; }),
          "over", fmt::format("every level of '{}' must have a value above 0", shown(hypothesis.over)));
  }
  check_sides(hypothesis, study, path);
}

void StudyReader::check_sides(const Hypothesis& hypothesis, const Study& study, const std::string& path) {
  using Kind = Hypothesis::Kind;
  if (hypothesis.kind == Kind::value || hypothesis.kind == Kind::slope || !problems_.empty()) return;
  const auto arms = study.select(hypothesis.arm), others = study.select(hypothesis.against);
  require(hypothesis.arm != hypothesis.against, hypothesis.origin, path + ".against",
          "is the same as 'arm'; name the levels in which they differ");
  require(arms.size() == others.size() || others.size() == 1, hypothesis.origin, path + ".against",
          fmt::format("selects {} arms and 'arm' {}; name the same axes in both, or a single arm here", others.size(),
                      arms.size()));
  const auto regime = [&](const Selector& selector) {
    const auto found = selector.find("regime");
    return found == selector.end() ? name_of(hypothesis.regime) : found->second;
  };
  const bool shares = std::any_of(arms.begin(), arms.end(), [&](std::size_t arm) {
    return std::find(others.begin(), others.end(), arm) != others.end();
  });
  require(!shares || regime(hypothesis.arm) != regime(hypothesis.against), hypothesis.origin, path + ".against",
          "selects an arm that 'arm' selects too; name the level of the axis in which they differ in both");
  if (hypothesis.kind == Kind::interaction)
    require(hypothesis.under != hypothesis.versus, hypothesis.origin, path + ".versus",
            "is the same as 'under'; name the levels in which they differ");
}

Selector StudyReader::selector(const RawYaml& raw, const Study& study, const std::string& path) {
  Selector selector;
  if (!raw.node) return selector;
  if (raw.node->kind != YamlNode::Kind::mapping)
    add(raw.node->origin, path,
        fmt::format("must be a mapping of levels by axis, such as {{tie: none}}; got {}", raw.node->described()));
  for (const YamlNode& child : raw.node->children) {
    Names levels = names_of(Regime{});
    if (child.key != "regime") {
      const Names axes = names_of_axes(study);
      const auto axis = std::find(axes.begin(), axes.end(), child.key);
      if (axis == axes.end()) {
        add(child.key_origin, path,
            fmt::format("there is no axis '{}'{}", shown(child.key), not_among(child.key, axes)));
        continue;
      }
      levels.clear();
      for (const Level& level : study.axes[static_cast<std::size_t>(axis - axes.begin())].levels)
        levels.push_back(level.name);
    }
    require(child.kind == YamlNode::Kind::scalar && includes(levels, child.text), child.origin, path,
            fmt::format("axis '{}' has no level {}{}", child.key, child.described(), not_among(child.text, levels)));
    require(child.key != "regime" || child.text != "tuned" || study.tuning, child.origin, path,
            "the study has no tuning; add 'tuning', or compare arms in the shared regime");
    selector[child.key] = child.text;
  }
  return selector;
}

}  // namespace surd
