#pragma once

#include "experiments/study/file/read_study.hpp"
#include "experiments/study/file/study_fields.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace surd {

/// The text of a value in the form that `--set` takes.
std::string flow_text(const YamlNode& node);
/// The axes whose levels all have a number, which formulas can name.
std::vector<std::string> axes_with_numbers(const Study& study);

/// Makes a Study of what a file says; part of load_study(). Problems are kept, and reading goes on.
class StudyReader {
 public:
  explicit StudyReader(const StudySource& source) : source_(source) {}
  /// Throws ConfigError with everything that is wrong.
  Study read();

 private:
  using Names = std::vector<std::string>;
  using Seeds = std::vector<std::uint64_t>;

  void add(const Origin& origin, std::string path, std::string message) {
    if (!unread(path)) problems_.push_back({origin, std::move(path), std::move(message)});
  }
  void require(bool holds, const Origin& origin, const std::string& path, std::string message) {
    if (!holds) add(origin, path, std::move(message));
  }
  /// Whether the value at a path, or one around it, could not be read. That is told; what else is wrong there follows.
  bool unread(const std::string& path) const;
  /// Whether all names in a top-level list could be read, so that others can be said to be none of them.
  bool names_read(const std::string& list) const;
  bool axes_read() const { return names_read("axes") && names_read("arms"); }
  /// The element i of a top-level list; null where the list is not one, or shorter.
  const YamlNode* written(const char* list, std::size_t i) const;
  /// Where that element is written; where there is none, the place of the list or of the file.
  Origin element(const char* list, std::size_t i) const;
  /// Where the level j of the axis i is written.
  Origin level_origin(std::size_t i, std::size_t j) const;
  void expect_name(const std::string& name, const Origin& origin, const std::string& path);
  void expect_one_line(const std::string& name, const Origin& origin, const std::string& path);
  void expect_lines(std::string text, const Origin& origin, const std::string& path);
  void expect_unique(const Names& names, const char* list, const char* what);

  YamlDocument read_base();
  Seeds seeds(const RawYaml& raw, const std::string& path, std::uint64_t first, std::size_t fallback);
  std::vector<Change> changes(const RawYaml& raw, const std::string& path);
  std::vector<double> rising_numbers(const RawYaml& raw, const std::string& path);
  std::vector<std::size_t> claims();
  std::vector<Amendment> amendments();
  Level level(const LevelFields& fields, const Origin& origin, const std::string& path);
  std::vector<Level> shorthand_levels(const AxisFields& fields, const std::string& path);
  std::vector<Axis> axes();
  void read_tuning(Study& study);

  // set_formulas.cpp
  bool may_be_formula(const YamlNode& node, const std::string& path);
  bool take_formulas(YamlNode& node, const std::string& path, std::vector<Change>& formulas);
  std::vector<Change> setting(const YamlNode& node, const std::string& path);
  void check_set_formulas(Study& study);
  void check_set_formula(Change& change, const Study& study);
  void check_words(const Study& study);
  void check_base(const YamlNode& node, const std::string& path, const Study& study);
  static std::optional<double> constant(const Change& change);
  void check_set_twice();
  void compute(Change& change, const Study& study, std::size_t arm);

  // read_statements.cpp
  void read_metrics(Study& study);
  void check_metric(const MetricSpec& metric, const Study& study, const std::string& path);
  void read_hypotheses(Study& study);
  void check_hypothesis(const Hypothesis& hypothesis, const YamlNode* written, const Study& study,
                        const std::string& path);
  void check_claims(const Study& study);
  void check_formulas(const Study& study);
  std::optional<Names> names_of_expression(const std::string& formula, const Origin& origin, const std::string& path);
  void check_selector(const YamlNode& node, const Study& study, const std::string& path);

  // resolve_arms.cpp
  bool wrong_levels(const Study& study);
  void read_without(const Study& study);
  void check_without(const Study& study);
  void make_arms(Study& study);
  void apply_quick(Study& study);
  void check_quick();
  void keep_levels(Study& study);
  void resolve_arms(Study& study);
  void check_settings(const Study& study);
  void check_extensions(const Study& study);
  void check_start(const Study& study, std::size_t arm, const RunConfig& config);
  void collect(const ConfigError& error);

  const StudySource& source_;
  StudyFields fields_;
  YamlNode root_;
  std::vector<Problem> problems_;
  std::set<std::string> unread_;  // the paths of problems that were found before anything was checked
  std::vector<Change> set_;       // of every arm
  std::vector<Selector> without_;
  std::vector<std::size_t> left_out_;  // by entry of without_, the combinations that none before it leaves out
  std::vector<Change> words_;          // values, not only numbers, of keys that take a number too
  std::set<std::string> told_;         // the problems of configs told so far: arms share many
  bool arms_made_ = false;             // and nothing was wrong by then
  std::optional<bool> wrong_levels_;   // once somebody asked
};

}  // namespace surd
