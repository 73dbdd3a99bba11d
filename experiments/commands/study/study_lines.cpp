#include "experiments/commands/study/study_lines.hpp"

#include "autograd/base/counted.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/file/claims.hpp"
#include "experiments/study/verdicts/finding.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace surd {
namespace {

constexpr std::size_t most_listed = 12;

/// The lines of a block of text.
void append(std::vector<std::string>& lines, const std::string& text) {
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
  }
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string seeds_text(const std::vector<std::uint64_t>& seeds) {
  const bool in_a_row = seeds.back() - seeds.front() + 1 == seeds.size() && std::is_sorted(seeds.begin(), seeds.end());
  if (in_a_row && seeds.size() > 2) return fmt::format("{} ({} ... {})", seeds.size(), seeds.front(), seeds.back());
  return fmt::format("{} ({})", seeds.size(), fmt::join(seeds, ", "));
}

/// What the seeds of a hypothesis come to; the same for all that have as many.
std::string reach_text(const Reach& reach, std::size_t tests, std::size_t looks) {
  const std::string with =
      fmt::format("be decided with {}{}: ", counted(reach.seeds, "seed"), reach.of_tuning ? " of the tuning" : "");
  if (reach.seeds < statistics::fewest_seeds)
    return fmt::format("cannot {}{} are the fewest", with, statistics::fewest_seeds);
  if (!reach.tested) return fmt::format("can {}no test, so no p", with);
  return fmt::format("{} {}smallest p 2/2^{} = {}, for {} (Holm){} {}{}", reach.decidable ? "can" : "cannot", with,
                     reach.seeds, short_number(reach.p), counted(tests, "test"),
                     looks == 1 ? "" : fmt::format(" and {} looks", looks), short_number(reach.p_holm),
                     reach.decidable ? "" : fmt::format(", above {}", statistics::significance));
}

std::vector<std::string> reach_lines(const Study& study, const Decidability& decidability, bool all,
                                     std::size_t most_names) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const bool decidable : {false, true}) {
    if (decidable && !all) break;
    for (std::size_t i = 0; i < study.hypotheses.size(); ++i) {
      const Reach& reach = decidability.hypotheses[i];
      if (reach.decidable != decidable) continue;
      const std::string text = reach_text(reach, decidability.tests, study.looks);
      auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& other) { return other.first == text; });
      if (group == groups.end()) group = groups.insert(group, {text, {}});
      group->second.push_back(study.hypotheses[i].name);
    }
  }
  std::vector<std::string> lines;
  const std::string indent(12, ' ');
  for (const auto& [text, names] : groups) {
    append(lines, wrapped(fmt::format("{} {}", names.size(), text), lines.empty() ? "hypotheses  " : indent,
                          indent + "  ", screen_width));
    for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i)
      append(lines, wrapped(one_line(names[i]), indent + "- ", indent + "  ", screen_width));
    if (names.size() > most_names) lines.push_back(fmt::format("{}- and {} more", indent, names.size() - most_names));
  }
  const bool of_tuning = std::any_of(decidability.hypotheses.begin(), decidability.hypotheses.end(),
                                     [](const Reach& reach) { return !reach.decidable && reach.of_tuning; });
  if (decidability.undecidable() > 0)
    lines.push_back(fmt::format("{}{} seeds or more{} would do for all", indent, decidability.seeds_for_all,
                                of_tuning ? ", of the tuning too (tuning.seeds)," : ""));
  return lines;
}

std::string pilot_text(const Study& study, const PilotFinding& finding) {
  if (!finding.obstacle.empty()) return finding.obstacle;
  const bool ratio = finding.compared_by == ComparedBy::ratio;
  const std::string& name = study.metric(study.hypotheses[finding.hypothesis].metric).unit;
  const std::string unit = name.empty() ? "" : " " + name;
  const auto length = [&](double value) {
    return ratio ? "a factor of " + short_number(std::exp(value)) : short_number(value) + unit;
  };
  const std::string deviation = fmt::format("deviation {}{} ({} seeds)", ratio ? "of the logarithm " : "",
                                            short_number(finding.deviation) + (ratio ? "" : unit), finding.pilot_seeds);
  const std::string margin = finding.margin == 0 ? "" : "; margin " + length(finding.margin);
  if (finding.smallest_effect)
    return fmt::format("{}: an effect of {}{}", deviation, length(*finding.smallest_effect), margin);
  return fmt::format("{}: {:.0f} of 100 studies support it if there is no effect, 80 with a margin of {}{}", deviation,
                     100 * *finding.share_supported, length(*finding.smallest_margin), margin);
}

Console::Style style(Verdict verdict) {
  if (verdict == Verdict::supported) return Console::Style::green;
  return verdict == Verdict::refuted ? Console::Style::red : Console::Style::yellow;
}

void add_lines(std::vector<std::string>& lines, Verdict verdict, const std::string& text, const std::string& indent) {
  const std::string word = fmt::format("{:<10}", name_of(verdict));
  std::string block = wrapped(text, indent + word + " ", indent + std::string(word.size() + 1, ' '), screen_width);
  const std::size_t at = indent.size();
  block = block.substr(0, at) + styled(word, style(verdict), STDOUT_FILENO) + block.substr(at + word.size());
  while (!block.empty() && block.back() == '\n') block.pop_back();
  lines.push_back(block);
}

}  // namespace

std::vector<std::string> describe(const Study& study) {
  std::vector<std::string> lines;
  append(lines, wrapped(one_line(study.title), "", "", screen_width));
  if (!study.question.empty()) append(lines, wrapped(one_line(study.question), "  ", "  ", screen_width));
  if (study.quick) lines.emplace_back("--quick: cut down to be tried, not to be believed");
  lines.emplace_back();
  std::vector<std::string> arms{std::to_string(study.arms.size()) + ":"};
  for (const Arm& arm : study.arms)
    if (arms.size() <= most_listed) arms.push_back(arm.name + ";");
  if (study.arms.size() > most_listed) arms.push_back(fmt::format("and {} more", study.arms.size() - most_listed));
  if (arms.back().back() == ';') arms.back().pop_back();
  std::vector<std::string> listed;
  append(listed, labelled("arms", arms, ""));
  const std::string indent(12, ' ');
  for (const std::string& line : listed)  // one name may be wider than the screen
    append(lines, columns_of(line) <= screen_width
                      ? line
                      : wrapped(line.substr(indent.size()), line.substr(0, indent.size()), indent, screen_width));
  append(lines, wrapped(seeds_text(study.seeds), "seeds       ", "            ", screen_width));
  if (study.looks > 1)
    lines.push_back(fmt::format("looks       {} at most, for which p is multiplied by {}", study.looks, study.looks));
  if (study.tuning) {
    std::vector<std::string> axes;
    for (const TuningAxis& axis : study.tuning->axes)
      axes.push_back(fmt::format("{} ({} values)", axis.name, axis.values.size()));
    if (study.tuning->search == TuningSearch::jointly)
      axes.push_back(fmt::format("{} of {} settings jointly", std::min(study.tuning->settings, study.tuning->product()),
                                 study.tuning->product()));
    axes.push_back("seeds " + seeds_text(study.tuning->seeds));
    append(lines, labelled("tuning", axes, ","));
  }
  return lines;
}

std::vector<std::string> decidability_lines(const Study& study, const Decidability& decidability) {
  if (study.hypotheses.empty()) return {"hypotheses  none"};
  return reach_lines(study, decidability, true, study.hypotheses.size());
}

std::vector<std::string> undecidable_lines(const Study& study, const Decidability& decidability) {
  return reach_lines(study, decidability, false, most_listed);
}

std::vector<std::string> pilot_lines(const Study& study, const std::vector<PilotFinding>& findings) {
  if (findings.empty()) return {"pilot       there is no comparison that these seeds can decide"};
  std::vector<std::string> lines{"pilot       what 8 of 10 studies would find, were their deviations the pilot's"};
  const std::string indent(14, ' ');
  for (const PilotFinding& finding : findings) {
    append(lines, wrapped(one_line(study.hypotheses[finding.hypothesis].name), "            - ", indent, screen_width));
    append(lines, wrapped(pilot_text(study, finding), indent, indent, screen_width));
  }
  return lines;
}

std::vector<std::string> pilot_doubts(const Study& study, const Study& pilot) {
  constexpr std::size_t few = 3;
  const std::string indent(12, ' ');
  std::vector<std::string> lines;
  if (pilot.seeds.size() <= few)
    append(lines, wrapped(fmt::format("it has {}, and even of three a deviation comes out below half the true "
                                      "one in one pilot of five; give it more",
                                      counted(pilot.seeds.size(), "seed")),
                          indent, indent, screen_width));
  const auto shared = std::count_if(pilot.seeds.begin(), pilot.seeds.end(), [&](std::uint64_t seed) {
    return std::find(study.seeds.begin(), study.seeds.end(), seed) != study.seeds.end();
  });
  if (shared > 0)
    append(lines, wrapped(fmt::format("{} of its seeds {} the study's; unless its runs are shorter, what was written "
                                      "with them in sight is not tested by them",
                                      shared, shared == 1 ? "is" : "are"),
                          indent, indent, screen_width));
  return lines;
}

std::vector<std::string> failures(const Study& study, StudyResults& results) {
  std::vector<std::string> lines;
  std::size_t failed = 0;
  for (const PlannedRun& run : plan(study, results.known())) {
    const std::string id = run.id(study);
    const RunResult* result = results.outcome(id);
    if (result == nullptr || result->status != RunResult::Status::failed || ++failed > most_listed) continue;
    lines.push_back("failed      " + id);
    std::vector<std::string> message;
    append(message, result->message);
    for (const std::string& line : message) append(lines, wrapped(line, "            ", "            ", screen_width));
  }
  if (failed > most_listed) lines.push_back(fmt::format("and {} more", failed - most_listed));
  if (failed > 0) lines.emplace_back("(surd study retry lets them be made again)");
  return lines;
}

std::vector<std::string> status_lines(const Study& study, const StudyFolder& folder, StudyResults& results) {
  std::vector<std::string> lines = describe(study);
  const StudyCounts all = count(study, folder, results);
  lines.push_back(fmt::format("runs        {} of {} made: {} finished, {} diverged, {} failed; {}{}", all.ended(),
                              all.planned, all.finished, all.diverged, all.failed, running_text(all),
                              all.reused > 0 ? fmt::format("; {} reused", all.reused) : ""));
  if (const std::size_t most = runs_at_most(study); most > all.planned && all.ended() < all.planned)
    lines.push_back(fmt::format("            (with all of the tuning at most {})", most));
  lines.emplace_back();
  std::map<std::size_t, StudyCounts> arms;
  for (const PlannedRun& run : plan(study, results.known())) {
    StudyCounts& counts = arms[run.arm];
    ++counts.planned;
    if (const RunResult* result = results.outcome(run.id(study))) counts.add(*result);
  }
  constexpr std::size_t name_width = 42;
  const auto row = [&](const std::string& name, auto planned, auto finished, auto diverged, auto failed) {
    return fmt::format("{:<{}} {:>8} {:>9} {:>9} {:>7}", name, name_width, planned, finished, diverged, failed);
  };
  lines.push_back(row("arm", "planned", "finished", "diverged", "failed"));
  for (const auto& [arm, counts] : arms) {
    std::string name = study.arms[arm].name;
    if (columns_of(name) > name_width) {
      append(lines, wrapped(name, "", "  ", screen_width));
      name.clear();
    }
    lines.push_back(row(name, counts.planned, counts.finished, counts.diverged, counts.failed));
  }
  const std::vector<std::string> failed = failures(study, results);
  if (!failed.empty()) lines.emplace_back();
  lines.insert(lines.end(), failed.begin(), failed.end());
  return lines;
}

std::vector<std::string> answer_lines(const Study& study, const Analysis& analysis) {
  std::vector<std::string> lines;
  const auto add_hypotheses = [&](std::size_t claim, const std::string& heading) {
    bool first = true;
    for (const HypothesisResult& result : analysis.hypotheses) {
      const Hypothesis& hypothesis = study.hypotheses[result.hypothesis];
      if (hypothesis.claim != claim) continue;
      if (first) lines.insert(lines.end(), {"", heading});
      first = false;
      add_lines(lines, result.verdict, hypothesis.name + ". " + result.reason, "  ");
    }
  };
  for (const ClaimResult& claim : analysis.claims)
    add_hypotheses(claim.claim,
                   fmt::format("Claim {}, {}: {}", claim.claim, name_of(claim.verdict), claim_text(claim.claim)));
  add_hypotheses(0, analysis.claims.empty() ? "Hypotheses" : "Beside the claims");
  return lines;
}

std::vector<std::string> answer_lines(const StudyGroup& group, const GroupAnswers& answers) {
  std::vector<std::string> lines{"", group.question};
  for (const auto& [claim, found] : answers)
    lines.push_back(fmt::format("  {:<10} {}", name_of(together(found)), claim_heading(claim)));
  return lines;
}

}  // namespace surd
