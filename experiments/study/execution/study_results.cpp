#include "experiments/study/execution/study_results.hpp"

#include "experiments/config/settings.hpp"
#include "experiments/config/yaml_document.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/study/execution/run_files.hpp"
#include "experiments/study/execution/workers/attempt.hpp"
#include "experiments/study/execution/workers/leases.hpp"
#include "train/storage/files.hpp"
#include "train/storage/json_object.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

namespace surd {
namespace {

/// Of a run that was in a list: a file server may go on saying for a while that it is not there.
void wait_for(const std::string& run) {
  constexpr Leases::Seconds most{60};
  const std::string outcome = "outcome.json";
  const auto stale = [&] {
    if (path_exists(run + "/" + outcome)) return false;
    const std::vector<std::string> names = names_in(run);
    return !path_exists(run) || std::find(names.begin(), names.end(), outcome) != names.end();
  };
  bool told = false;
  for (const auto begin = Leases::steady_clock(); stale() && Leases::steady_clock() - begin < most;) {
    if (!told && Leases::steady_clock() - begin > Leases::Seconds(1)) {
      to_stderr("{}: waiting for the file server to show its {}, at most {:.0f} s\n", run, outcome, most.count());
      told = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// The last update that a run has logged so far; 0 where there is none.
std::uint64_t last_logged(const std::string& metrics) {
  constexpr std::streamoff enough = 4096;  // bytes, for a line and one that is still being written
  std::ifstream file(metrics, std::ios::binary | std::ios::ate);
  file.seekg(std::max<std::streamoff>(0, file.tellg() - enough));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t end = text.rfind('\n');
  if (end == std::string::npos || end == 0) return 0;
  const std::size_t begin = text.rfind('\n', end - 1) + 1;  // 0 behind npos
  return JsonObject(std::string_view(text).substr(begin, end - begin), metrics, "").count("update");
}

/// The share of its updates that a run has behind it, as far as the logs of those attempts tell whose names are
/// `chosen`.
template <class Chosen>
double share_made(const Study& study, const StudyFolder& folder, const PlannedRun& run, const Chosen& chosen) {
  const std::string attempts = folder.attempts(run.id(study));
  double share = 0;
  try {
    for (const std::string& name : names_in(attempts)) {
      if (!chosen(name)) continue;
      const auto update = static_cast<double>(last_logged(RunFolder(attempts + "/" + name).metrics()));
      share =
          std::max(share, update / static_cast<double>(study.config(run.arm, run.settings, run.seed).train.updates));
    }
  } catch (const Error&) {  // the run has just ended, or a log is damaged
  }
  return std::min(1.0, share);
}

/// The same of the attempt that a worker is at.
double share_made(const Study& study, const StudyFolder& folder, const PlannedRun& run, const std::string& worker) {
  return share_made(study, folder, run, [&](const std::string& name) { return Attempt::is_made_by(name, worker); });
}

}  // namespace

StudyResults::StudyResults(StudyFolder folder, bool with_probe) : folder_(std::move(folder)), with_probe_(with_probe) {
  refresh();
}

StudyResults::StudyResults(StudyFolder folder, const Study& to_plan)
    : StudyResults(std::move(folder), to_plan.tuning && to_plan.metric(to_plan.tuning->metric).metric->reads_probe()) {}

void StudyResults::refresh() {
  ended_ = folder_.ended();
  // A run that failed may be made again; see retry_failed().
  for (auto* known : {&results_, &outcomes_})
    for (auto run = known->begin(); run != known->end();)
      run = run->second.status == RunResult::Status::failed ? known->erase(run) : std::next(run);
}

const RunResult* StudyResults::find(const std::string& id) {
  if (const auto found = results_.find(id); found != results_.end()) return &found->second;
  if (!ended(id)) return nullptr;
  wait_for(folder_.run(id));
  return &results_.emplace(id, read_result(folder_.run(id), with_probe_)).first->second;
}

const RunResult* StudyResults::outcome(const std::string& id) {
  if (const auto found = outcomes_.find(id); found != outcomes_.end()) return &found->second;
  if (!ended(id)) return nullptr;
  wait_for(folder_.run(id));
  return &outcomes_.emplace(id, read_outcome(folder_.run(id))).first->second;
}

KnownResults StudyResults::known_of(const Study& study) {
  const auto settings = [](const std::string& text) { return settings_of(YamlDocument::parse(text, "config").root()); };
  for (const PlannedRun& run : plan(study, known())) {
    const RunResult* result = find(run.id(study));
    if (result == nullptr || result->status == RunResult::Status::failed) continue;
    const std::string file = RunFolder(folder_.run(run.id(study))).config();
    const std::string planned = to_yaml(study.config(run.arm, run.settings, run.seed));
    if (read_file(file) == planned) continue;
    // An older version may have had fewer keys.
    const std::string changes = difference(settings(planned), settings(to_yaml(load_config(file))));
    expect(
        changes.empty(), file,
        "is not the config of this arm and seed:{}\nwas the run's folder moved? put it back, or remove it, and the run "
        "is made again by --resume",
        changes);
  }
  return known();
}

void StudyCounts::add(const RunResult& result) {
  finished += result.status == RunResult::Status::finished;
  diverged += result.status == RunResult::Status::diverged;
  failed += result.status == RunResult::Status::failed;
  reused += !result.reused_from.empty();
}

std::string running_text(const StudyCounts& counts) {
  const auto running = static_cast<double>(counts.running);
  const std::string through = running > 0 ? fmt::format(", {:.0f} % through", 100 * counts.underway / running) : "";
  return fmt::format("{} running{}", counts.running, through);
}

StudyCounts count(const Study& study, const StudyFolder& folder, StudyResults& results) {
  StudyCounts counts;
  results.refresh();
  for (const PlannedRun& run : plan(study, results.known())) {
    const std::string id = run.id(study);
    ++counts.planned;
    if (const RunResult* result = results.outcome(id)) {
      counts.add(*result);
    } else if (const auto worker = worker_at(folder.path(), id)) {
      ++counts.running;
      counts.underway += share_made(study, folder, run, *worker);
    }
  }
  return counts;
}

double underway_before(const Study& study, const StudyFolder& folder, StudyResults& results) {
  const bool go_on = folder.keep_checkpoints();
  double shares = 0;
  for (const PlannedRun& run : plan(study, results.known())) {
    const std::string id = run.id(study);
    if (results.ended(id)) continue;
    if (go_on)
      shares += share_made(study, folder, run, [](const std::string&) { return true; });
    else if (const auto worker = worker_at(folder.path(), id))
      shares += share_made(study, folder, run, *worker);
  }
  return shares;
}

}  // namespace surd
