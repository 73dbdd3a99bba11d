#include "experiments/commands/metrics/score_files.hpp"

#include "autograd/base/counted.hpp"
#include "data/lines.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/program/version.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

struct System {
  std::string name;
  CountsOfLines lines;
  TranslationMetric::Counts sums;
  double score = 0;
  ScoreInterval interval = {};   // of several systems
  std::optional<double> p = {};  // of its difference from the first
};

/// Lines of a file that a person named; "-" is standard input.
std::vector<std::string> lines_of(const std::string& name) {
  try {
    return read_lines(name == "-" ? "/dev/stdin" : name);
  } catch (const Error& error) {
    throw UsageError(fmt::format("{}; name a file of text in UTF-8 (iconv converts others)", error.what()));
  }
}

std::vector<System> read_systems(const TranslationMetric& metric, const ScoreFilesArguments& arguments) {
  std::vector<std::string> names = arguments.translations.values;
  names.push_back(arguments.reference);
  const auto from_input = std::count_if(names.begin(), names.end(),
                                        [](const std::string& name) { return name == "-" || name == "/dev/stdin"; });
  expect_usage(from_input <= 1, "-", "standard input can be named once; put the others into files");
  const std::vector<std::string> references = lines_of(arguments.reference);
  expect_usage(!references.empty(), arguments.reference, "holds no line");
  std::vector<System> systems;
  for (const std::string& name : arguments.translations.values) {
    const std::vector<std::string> translations = lines_of(name);
    expect_usage(translations.size() == references.size(), name,
                 "has {} and {} has {}; line n must be the reference of line n", counted(translations.size(), "line"),
                 arguments.reference, counted(references.size(), "line"));
    System system{name, count_lines(metric, translations, references), {}};
    system.sums = sum_of(system.lines);
    system.score = metric.score(system.sums);
    systems.push_back(std::move(system));
  }
  return systems;
}

Json to_json(const TranslationMetric& metric, const System& system, const Resampling* compared) {
  Json json{
      {"system", system.name}, {"name", metric.name()}, {"score", system.score}, {"signature", signature_of(metric)}};
  const std::string details = metric.details(system.sums);
  if (!details.empty()) json["verbose_score"] = details;
  if (compared == nullptr) return json;
  json["mean"] = system.interval.mean;
  json["confidence"] = system.interval.half_width;
  json["p_value"] = system.p ? Json(*system.p) : Json(nullptr);
  json["test"] = name_of(compared->test);
  json["trials"] = compared->trials;
  json["seed"] = compared->seed;
  return json;
}

void print_one(const TranslationMetric& metric, const System& system) {
  const std::string details = metric.details(system.sums);
  fmt::print("{}|{} = {:.2f}{}{}\n", metric.name(), signature_of(metric), system.score, details.empty() ? "" : " ",
             details);
}

void print_comparison(const TranslationMetric& metric, const std::vector<System>& systems,
                      const Resampling& resampling) {
  std::vector<std::vector<std::string>> rows{{"system", metric.name(), "bootstrap mean, 95 %", "p"}};
  for (const System& system : systems)
    rows.push_back({system.name, fmt::format("{:.2f}", system.score),
                    fmt::format("{:.2f} ± {:.2f}", system.interval.mean, system.interval.half_width),
                    system.p ? fmt::format("{:.4f}{}", *system.p, *system.p < 0.05 ? " *" : "") : "baseline"});
  for (const std::string& line : aligned(rows)) fmt::print("{}\n", line);
  fmt::print("\n{}|{}\np, and * where it is below 0.05: paired {}, {} trials, seed {}\n", metric.name(),
             signature_of(metric),
             resampling.test == SignificanceTest::bootstrap ? "bootstrap resampling" : "approximate randomization",
             with_commas(resampling.trials), resampling.seed);
}

}  // namespace

std::string signature_of(const TranslationMetric& metric, bool lowercase) {
  const std::string signature = fmt::format("{}|version:surd-{}", metric.signature(), version());
  return lowercase ? replace_all(signature, "case:mixed", "case:lc") : signature;
}

int score_files(const TranslationMetric& metric, const ScoreFilesArguments& arguments) {
  std::vector<System> systems = read_systems(metric, arguments);
  const bool several = systems.size() > 1;
  expect_usage(several || !arguments.trials, "--trials", "is of a comparison; name several files, or remove it");
  const std::size_t usual_trials = arguments.test == SignificanceTest::bootstrap ? 1000 : 10000;
  const Resampling resampling{arguments.test, arguments.trials.value_or(usual_trials), arguments.seed};
  for (std::size_t i = 0; several && i < systems.size(); ++i) {
    systems[i].interval =
        bootstrap_interval(metric, systems[i].lines, {SignificanceTest::bootstrap, 1000, resampling.seed});
    if (i > 0) systems[i].p = p_value(metric, systems[i].lines, systems[0].lines, resampling);
  }
  if (arguments.json) {
    Json list = Json::array();
    for (const System& system : systems) list.push_back(to_json(metric, system, several ? &resampling : nullptr));
    fmt::print("{}\n", (several ? list : list.front()).dump(2, ' ', false, Json::error_handler_t::replace));
  } else if (several) {
    print_comparison(metric, systems, resampling);
  } else {
    print_one(metric, systems.front());
  }
  return exit_done;
}

}  // namespace surd
