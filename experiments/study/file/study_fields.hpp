#pragma once

#include "experiments/config/raw_yaml.hpp"
#include "experiments/study/file/study.hpp"

#include <optional>
#include <string>
#include <vector>

/// The keys of a study file, and of a group of studies. The reference in docs/studies.md and study_schema() are made
/// from these lists, and StudyReader makes a Study of what they read.
namespace surd {

struct AmendmentFields {
  std::string date, what, seen;

  void fields(Fields& f) {
    f("date", date, "when, year-month-day: 2026-11-20");
    f("what", what, "what was changed");
    f("seen", seen, "what was known of the results by then; nothing is an answer too");
    f.rule(!date.empty(), "date", "is required");
    f.rule(!what.empty(), "what", "is required");
    f.rule(!seen.empty(), "seen", "is required: what was known by then, if only 'nothing'");
  }
};

struct LevelFields {
  std::string name;
  std::optional<double> value;
  std::string preset;
  RawYaml set{"mapping of config keys"};

  void fields(Fields& f) {
    f("name", name, "what hypotheses and tables call it");
    f("value", value, "the number that formulas, slopes and charts take it for");
    f("preset", preset, "a preset whose settings it takes before `set`, e.g. fairseq");
    f("set", set, "settings of a config, e.g. {model.d_model: 32, task.name: copy}; numbers may be formulas of axes");
    f.rule(!name.empty(), "name", "is required");
  }
};

struct AxisFields {
  std::string name;
  std::vector<LevelFields> levels;
  std::string key;
  RawYaml values{"list of values"};

  void fields(Fields& f) {
    f("name", name, "what hypotheses call it; formulas too, so letters, digits and '_'");
    f("levels", levels, "its choices");
    f("key", key, "shorthand for levels that set one key of the config: this one");
    f("values", values, "to these values, which are the levels' names");
    f.rule(!name.empty(), "name", "is required");
  }
};

struct TuningAxisFields {
  std::string name;
  std::string key;
  RawYaml values{"list of numbers"};
  std::size_t extensions = 2;
  GrowAt grow_at = GrowAt::best;

  void fields(Fields& f) {
    f("name", name, "what reports call it");
    f("key", key, "of the config, e.g. optimizer.learning_rate");
    f("values", values, "the grid, rising");
    f("extensions", extensions,
      "how often, at most, the grid grows by its own ratio where its best value is at its edge; never jointly",
      between(0, 8));
    f("grow_at", grow_at,
      "best: the grid grows where its best value is at its edge; alike: also where the tuning's seeds do not tell a "
      "value at its edge from the best",
      When{extensions > 0, "extensions is above 0"});
    f.rule(!name.empty(), "name", "is required");
    f.rule(!key.empty(), "key", "is required");
    f.rule(values.node.has_value(), "values", "is required");
  }
};

struct TuningFields {
  std::string metric;
  RawYaml seeds{"whole number or list"};
  TuningSearch search = TuningSearch::in_turn;
  std::optional<std::size_t> settings;
  bool only = false;
  std::vector<TuningAxisFields> axes;

  void fields(Fields& f) {
    const bool jointly = search == TuningSearch::jointly;
    f("metric", metric, "whose mean over the tuning's seeds is made best");
    f("seeds", seeds,
      "n: 1001 ... 1000 + n; or a list; without the key 1001 ... 1003. None of them a seed of the study");
    f("search", search,
      "in_turn: one axis after the other, each with the best of those before it; jointly: settings drawn from the "
      "product of all grids, the same for every arm");
    f("settings", settings, "how many of the product are tried; all, where it has no more", between(1, 10'000),
      When{jointly, "search is jointly"});
    f("only", only, "make no runs with the base's own settings, which saves them where every hypothesis is tuned");
    f("axes", axes, "what is tuned");
    f.rule(!jointly || settings, "settings", "is required where search is jointly: how many settings an arm tries");
  }
};

struct MetricFields {
  std::string name;
  MetricChoice kind = {metric_kinds(), "final_value"};
  std::string unit;
  bool lower_is_better = true;
  ComparedBy compared_by = ComparedBy::difference;

  void fields(Fields& f) {
    f("name", name, "what hypotheses and formulas call it: letters, digits and '_'");
    f.choice("", "kind", kind, "how a run's number is found");
    f("unit", unit, "shown behind it");
    f("lower_is_better", lower_is_better, "true unless it is an accuracy or a largest_stable_rate, or says otherwise");
    f("compared_by", compared_by,
      "difference, unless it is an updates_to, tokens_to or seconds_to, a perplexity or a rate, or says otherwise; "
      "margins are factors where it is ratio");
    f.rule(!name.empty(), "name", "is required");
  }
};

struct HypothesisFields {
  std::string name;
  std::size_t claim = 0;
  bool contradicts = false;
  StatementChoice kind = {hypothesis_kinds(), "difference"};

  void fields(Fields& f) {
    f("name", name, "the statement, in one sentence");
    f("claim", claim, "the number of the claim it belongs to; 0: none");
    f("contradicts", contradicts, "whether it speaks against the claim where it holds",
      When{claim != 0, "claim is not 0"});
    f.choice("", "kind", kind, "what is to hold");
    f.rule(!name.empty(), "name", "is required");
  }
};

struct QuickFields {
  RawYaml seeds{"whole number or list"};
  RawYaml tuning_seeds{"whole number or list"};
  RawYaml set{"mapping of config keys"};
  RawYaml levels{"mapping of lists"};

  void fields(Fields& f) {
    f("seeds", seeds, "as above; without the key the study's");
    f("tuning_seeds", tuning_seeds, "as tuning.seeds; without the key those");
    f("set", set, "settings over the base's");
    f("levels", levels, "levels to keep, by axis; hypotheses about others are left out");
  }
};

struct StudyFields {
  std::string title, question, expectation;
  RawYaml claims{"list of whole numbers"};
  RawYaml base{"mapping, a config"};
  std::vector<AmendmentFields> changes;
  std::vector<AxisFields> axes;
  std::vector<LevelFields> arms;
  RawYaml without{"list of mappings of levels"};
  RawYaml set{"mapping of config keys"};
  RawYaml seeds{"whole number or list"};
  std::size_t looks = 1;
  TuningFields tuning;
  std::vector<MetricFields> metrics;
  std::vector<HypothesisFields> hypotheses;
  QuickFields quick;

  void fields(Fields& f) {
    f("title", title, "one line");
    f("question", question, "what is asked");
    f("expectation", expectation, "what is expected and why, written before the run");
    f("claims", claims, "the claims it is about, by number");
    f("base", base, "what all runs have in common; may begin with extends: a preset, or a file relative to this one");
    f("changes", changes, "what was changed since the study was first written, in order; every report shows it");
    f("axes", axes, "the factors; every combination of their levels is an arm, but for those of `without`");
    f("arms", arms, "shorthand for one axis called arm with these levels");
    f("without", without, "combinations that are no arms, e.g. [{alpha: one, tie: all}]; an axis not named is free");
    f("set", set, "settings of every arm, over those of its levels, e.g. {optimizer.learning_rate: 3e-3 * 64 / d}");
    f("seeds", seeds,
      "n: 1 ... n; or a list; without the key 1 ... 10. Of data, initial weights and batches; arms are paired by "
      "them");
    f("looks", looks,
      "how often its verdicts are taken at most: once, and again after each surd study extend; p is multiplied by it",
      between(1, 10));
    f("tuning", tuning, "finds each arm's own settings");
    f("metrics", metrics, "the numbers a run is judged by");
    f("hypotheses", hypotheses, "what is to be true of them");
    f("quick", quick, "what --quick changes: a study to be tried, not to be believed");
    f.rule(!title.empty(), "title", "is required");
    f.rule(base.node.has_value(), "base", "is required; it may be {}");
  }
};

/// The keys of a question that several studies answer.
struct GroupFields {
  std::string question;
  RawYaml studies{"list of names of study files"};

  void fields(Fields& f) {
    f("question", question, "what is asked");
    f("studies", studies, "the studies that answer it, files beside this one");
    f.rule(!question.empty(), "question", "is required");
  }
};

}  // namespace surd
