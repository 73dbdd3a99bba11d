#include "experiments/study/execution/outlook.hpp"

#include "autograd/base/counted.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/execution/workers/worker_pool.hpp"

#include <algorithm>
#include <thread>

namespace surd {
namespace {

std::size_t cores() { return std::max(1U, std::thread::hardware_concurrency()); }

std::string about(double seconds) { return seconds < 1 ? "a second" : clock_time(seconds); }

std::string hours(double seconds) {
  constexpr double hour = 3600;
  return seconds < 10 * hour ? fmt::format("{:.2g}", seconds / hour) : fmt::format("{:.0f}", seconds / hour);
}

}  // namespace

std::optional<RunTime> time_of_a_run(const Study& study) {
  // Evenly spread, so that a level of the first axis, say the widest model, counts for as much as it has arms.
  const std::size_t arms = study.arms.size(), measured = std::min<std::size_t>(arms, 6);
  RunTime mean;
  for (std::size_t i = 0; i < measured; ++i) {
    const ConfigFile file = study.config_file(i * arms / measured, {}, study.seeds.front());
    const auto seconds = estimated_seconds(file);
    if (!seconds) continue;
    mean.seconds += *seconds;
    mean.core_seconds += *seconds * static_cast<double>(std::min(file.config.train.replicas, cores()));
    ++mean.arms;
  }
  if (mean.arms == 0) return std::nullopt;
  mean.seconds /= static_cast<double>(mean.arms);
  mean.core_seconds /= static_cast<double>(mean.arms);
  return mean;
}

std::size_t usual_jobs(const Study& study) {
  std::size_t replicas = 1;
  for (std::size_t arm = 0; arm < study.arms.size(); ++arm)
    replicas = std::max(replicas, study.config(arm, {}, study.seeds.front()).train.replicas);
  return std::max<std::size_t>(1, cores() / replicas);
}

std::vector<std::string> outlook(const Study& study, const StudyCounts& counts, std::size_t jobs,
                                 std::size_t reusable) {
  const std::size_t most = runs_at_most(study), left = counts.planned - counts.ended() - reusable;
  std::vector<std::string> lines{
      fmt::format("runs        {} to make{}{}{}", left,
                  reusable > 0 ? fmt::format(", {} to reuse from other studies", reusable) : "",
                  counts.ended() > 0 ? fmt::format(", {} made", counts.ended()) : "",
                  most > counts.planned ? fmt::format("; with all of the tuning at most {}", most) : "")};
  if (left == 0) return lines;
  const auto run = time_of_a_run(study);
  if (!run) return lines;
  const auto now = static_cast<double>(left), in_the_end = static_cast<double>(most - counts.ended() - reusable);
  const auto workers = static_cast<double>(std::min(jobs, cores()));
  const bool tunes = most > counts.planned;
  lines.push_back(fmt::format("time        about {}{} with {}", about(now * run->seconds / workers),
                              tunes ? ", at most " + about(in_the_end * run->seconds / workers) : "",
                              counted(jobs, "worker")));
  lines.push_back(fmt::format("            {} core-hours{}, measured on {} of {}", hours(now * run->core_seconds),
                              tunes ? ", at most " + hours(in_the_end * run->core_seconds) : "", run->arms,
                              counted(study.arms.size(), "arm")));
  return lines;
}

}  // namespace surd
