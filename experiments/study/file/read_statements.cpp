#include "experiments/study/file/claims.hpp"
#include "experiments/study/file/study_reader.hpp"
#include "experiments/study/statistics/formula.hpp"

#include <algorithm>
#include <regex>

namespace surd {
namespace {

/// Whether a hypothesis needs runs with the base's own settings.
bool looks_at_shared(const Study& study, const Hypothesis& hypothesis) {
  for (const MetricSpec& metric : study.metrics)
    if (metric.name == hypothesis.metric && metric.metric->of_tuning()) return false;
  const auto is = [](const Selector& side, Regime otherwise) {
    const auto regime = side.find("regime");
    return regime == side.end() ? otherwise == Regime::shared : regime->second == "shared";
  };
  const bool one_side = hypothesis.against.empty();
  return is(hypothesis.arm, hypothesis.regime) || (!one_side && is(hypothesis.against, hypothesis.regime)) ||
         is(hypothesis.under, Regime::tuned) || is(hypothesis.versus, Regime::tuned);
}

/// The first name in the formula of `at` that is the metric `from` or leads back to it through further formulas; ""
/// where there is none.
std::string circle_from(const Study& study, const std::string& from, const std::string& at, std::size_t depth) {
  for (const MetricSpec& metric : study.metrics) {
    const std::string formula = metric.metric->formula();
    if (metric.name != at || formula.empty() || depth > study.metrics.size()) continue;
    for (const std::string& name : names_in_formula(formula))
      if (name == from || !circle_from(study, from, name, depth + 1).empty()) return name;
  }
  return "";
}

/// Why muParser takes a formula for something else than it says to a reader; "" where it does not. Of a study that was
/// `begun` it is too late for what is only unwise.
std::string misread(const std::string& formula, bool begun) {
  std::vector<bool> compared = {false};  // whether a comparison stands before this place, in each bracket around it
  for (std::size_t i = 0; i < formula.size(); ++i) {
    const char c = formula[i], before = i > 0 ? formula[i - 1] : ' ',
               after = i + 1 < formula.size() ? formula[i + 1] : ' ';
    const bool assigns = c == '=' && after != '=' && std::string("=<>!").find(before) == std::string::npos;
    if (assigns || (c == ',' && compared.size() == 1))
      return "must be one expression, without '=' and without ',' outside of brackets";
    if (c == '(') compared.push_back(false);
    if (c == ')' && compared.size() > 1) compared.pop_back();
    if (std::string("&|?:,").find(c) != std::string::npos) compared.back() = false;
    if (c != '<' && c != '>' && (c != '=' || (before != '=' && before != '!'))) continue;
    if (compared.back() && !begun)
      return "of two comparisons in a row the second would take the first one's 0 or 1; write a < b && b < c";
    compared.back() = true;
  }
  if (!begun && std::regex_search(formula, std::regex(R"(\blog\s*\()")))
    return "log is the natural logarithm to some and that of base 10 to others; write ln, log10 or log2";
  return "";
}

}  // namespace

void StudyReader::read_metrics(Study& study) {
  Names names;
  for (std::size_t i = 0; i < fields_.metrics.size(); ++i) {
    const MetricFields& fields = fields_.metrics[i];
    MetricSpec metric{fields.name,        fields.kind.name(),   fields.kind.make(), fields.unit, fields.lower_is_better,
                      fields.compared_by, element("metrics", i)};
    const YamlNode* node = written("metrics", i);
    if (node == nullptr || node->find("lower_is_better") == nullptr)
      metric.lower_is_better = metric.metric->lower_is_better();
    if (node == nullptr || node->find("compared_by") == nullptr) metric.compared_by = metric.metric->compared_by();
    check_metric(metric, study, fmt::format("metrics[{}]", i));
    names.push_back(fields.name);
    study.metrics.push_back(std::move(metric));
  }
  expect_unique(names, "metrics", "metric");
  if (!study.tuning) return;
  const Origin origin = root_.find("tuning")->key_origin;
  const auto found = std::find(names.begin(), names.end(), study.tuning->metric);
  if (study.tuning->metric.empty())
    add(origin, "tuning.metric", "is required" + not_among("", names));
  else if (found == names.end())
    require(
        !names_read("metrics"), origin, "tuning.metric",
        fmt::format("there is no metric '{}'{}", shown(study.tuning->metric), not_among(study.tuning->metric, names)));
  else
    require(!study.metrics[static_cast<std::size_t>(found - names.begin())].metric->of_tuning(), origin,
            "tuning.metric", "is found from the tuning itself; name one that a single run has");
}

void StudyReader::check_metric(const MetricSpec& metric, const Study& study, const std::string& path) {
  expect_name(metric.name, metric.origin, path + ".name");
  expect_one_line(metric.unit, metric.origin, path + ".unit");
  require(!includes(study.axis_names(), metric.name), metric.origin, path + ".name",
          fmt::format("an axis is called '{}' already; rename one", shown(metric.name)));
  require(!metric.metric->of_tuning() || study.tuning || unread("tuning"), metric.origin, path + ".kind",
          fmt::format("{} is found from the tuning, and the study has none", metric.kind));
  if (!metric.metric->of_tuning() || !study.tuning) return;
  require(study.tuning->rates() != nullptr, metric.origin, path + ".kind",
          fmt::format("{} is found along the learning rates of the tuning, and none of its axes has the key "
                      "optimizer.learning_rate",
                      metric.kind));
  if (study.tuning->search == TuningSearch::jointly)
    require(study.tuning->whole_product(), metric.origin, path + ".kind",
            fmt::format("{} needs the whole grid of rates with the other settings fixed, and {} of the {} settings of "
                        "the tuning are tried; set tuning.settings: {}, or search in_turn",
                        metric.kind, study.tuning->settings, study.tuning->product(), study.tuning->product()));
}

void StudyReader::read_hypotheses(Study& study) {
  Names names;
  for (std::size_t i = 0; i < fields_.hypotheses.size(); ++i) {
    const HypothesisFields& fields = fields_.hypotheses[i];
    Hypothesis hypothesis;
    hypothesis.name = fields.name;
    hypothesis.claim = fields.claim;
    hypothesis.contradicts = fields.contradicts;
    hypothesis.kind = fields.kind.name();
    hypothesis.statement = fields.kind.make();
    static_cast<HypothesisTerms&>(hypothesis) = hypothesis.statement->terms();
    hypothesis.origin = element("hypotheses", i);
    expect_one_line(hypothesis.name, hypothesis.origin, fmt::format("hypotheses[{}].name", i));
    check_hypothesis(hypothesis, written("hypotheses", i), study, fmt::format("hypotheses[{}]", i));
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

std::optional<StudyReader::Names> StudyReader::names_of_expression(const std::string& formula, const Origin& origin,
                                                                   const std::string& path) {
  if (const std::string why = misread(formula, source_.begun); !why.empty()) {
    add(origin, path, why);
    return std::nullopt;
  }
  try {
    return names_in_formula(formula);
  } catch (const Error& error) {
    add(origin, path, error.what());
    return std::nullopt;
  }
}

void StudyReader::check_formulas(const Study& study) {
  if (!axes_read() || !names_read("metrics")) return;
  Names numbers = axes_with_numbers(study);
  numbers.insert(numbers.begin(), "V");
  Names all = numbers, of_tuning;
  for (const MetricSpec& metric : study.metrics) (metric.metric->of_tuning() ? of_tuning : all).push_back(metric.name);
  const auto check = [&](const std::string& formula, const Names& known, const Origin& origin,
                         const std::string& path) {
    for (const std::string& name : names_of_expression(formula, origin, path).value_or(Names()))
      if (includes(of_tuning, name))
        add(origin, path, fmt::format("'{}' is a metric of a whole tuning, and no number of a run", name));
      else
        require(includes(known, name), origin, path,
                fmt::format("the formula has no number called '{}'{}", shown(name), not_among(name, known)));
  };
  for (std::size_t i = 0; i < study.metrics.size(); ++i) {
    const MetricSpec& metric = study.metrics[i];
    if (const std::string formula = metric.metric->formula(); !formula.empty())
      check(formula, all, metric.origin, fmt::format("metrics[{}].formula", i));
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

void StudyReader::check_hypothesis(const Hypothesis& hypothesis, const YamlNode* node, const Study& study,
                                   const std::string& path) {
  const Statement::Complain complain = [&](const char* key, std::string message) {
    add(hypothesis.origin, fmt::format("{}.{}", path, key), std::move(message));
  };
  if (hypothesis.claim != 0 && !unread("claims") &&
      std::find(study.claims.begin(), study.claims.end(), hypothesis.claim) == study.claims.end())
    complain("claim", fmt::format("{} is none of the study's claims; add it to 'claims'", hypothesis.claim));
  if (hypothesis.regime == Regime::tuned && !study.tuning && !unread("tuning"))
    complain("regime", "is tuned, and the study has no tuning; add 'tuning', or make it shared");
  if (study.tuning && study.tuning->only && looks_at_shared(study, hypothesis))
    complain("regime",
             "is shared, here or in 'arm', 'against', 'under' or 'versus', and tuning.only says that no runs "
             "are; make it tuned, or remove tuning.only");
  if (!axes_read()) return;
  const std::size_t before = problems_.size();
  for (const char* key : {"arm", "against", "under", "versus"})
    if (const YamlNode* selector = node != nullptr ? node->find(key) : nullptr)
      check_selector(*selector, study, fmt::format("{}.{}", path, key));
  const auto selectors_right = [&] { return problems_.size() == before && !wrong_levels_.value_or(false); };
  if (selectors_right() && !study.arms.empty() && study.select(hypothesis.arm).empty())
    complain("arm", "selects no arm: 'without' leaves out every one; name other levels");
  if (selectors_right() && names_read("metrics")) hypothesis.statement->check(study, hypothesis, complain);
}

void StudyReader::check_selector(const YamlNode& node, const Study& study, const std::string& path) {
  if (node.kind != YamlNode::Kind::mapping)
    return add(node.origin, path,
               fmt::format("must be a mapping of levels by axis, such as {{tie: none}}; got {}", node.described()));
  for (const YamlNode& child : node.children) {
    Names levels = names_of(Regime{});
    if (child.key != "regime") {
      const Names axes = study.axis_names();
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
    const bool known = child.kind == YamlNode::Kind::scalar && includes(levels, child.text);
    require(
        known || (child.key != "regime" && wrong_levels(study)), child.origin, path,
        child.kind == YamlNode::Kind::scalar
            ? fmt::format("axis '{}' has no level {}{}", child.key, child.described(), not_among(child.text, levels))
            : fmt::format("axis '{}' takes one level, not {}", child.key, child.described()));
    require(child.key != "regime" || child.text != "tuned" || study.tuning || unread("tuning"), child.origin, path,
            "the study has no tuning; add 'tuning', or compare arms in the shared regime");
  }
}

}  // namespace surd
