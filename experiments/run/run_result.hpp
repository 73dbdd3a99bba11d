#pragma once

#include "experiments/run/metrics_reader.hpp"
#include "train/probe/probe.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// One quantity of a probe.jsonl.
struct ProbeSeries {
  struct Number {
    std::uint64_t update = 0;
    double value = 0;
  };
  std::string path, what, statistic;  ///< as in the file
  std::vector<Number> numbers;        ///< in the order of the file
};

/// What a probe.jsonl has. A study holds those of all its runs, so that a name is kept once, not with each number.
class ProbeLog {
 public:
  void add(std::uint64_t update, const Probe::Record& record);
  /// Null where the file has no such quantity.
  const ProbeSeries* find(std::string_view path, std::string_view what, std::string_view statistic) const;

  /// The quantities, in the order in which the file has their first numbers.
  std::vector<ProbeSeries>::const_iterator begin() const { return series_.begin(); }
  std::vector<ProbeSeries>::const_iterator end() const { return series_.end(); }

 private:
  std::size_t place_of(std::string_view path, std::string_view what, std::string_view statistic,
                       std::size_t first) const;

  std::vector<ProbeSeries> series_;
  std::size_t next_ = 0;  // the place behind the last one added to: a file repeats the same order update by update
};

/// What one run left behind.
struct RunResult {
  enum class Status { finished, diverged, failed };
  Status status = Status::finished;
  std::string message;  ///< where it diverged, or why it failed
  Metrics metrics;
  ProbeLog probe;
  std::map<std::string, double> summary;  ///< the numbers of summary.json, e.g. "wall_seconds"
  /// The texts of summary.json, which are those of system_info(): the program and the machine that made it.
  std::map<std::string, std::string> system = {};
  /// Wall-clock seconds until each evaluation of the last process had ended, by update.
  std::map<std::uint64_t, double> evaluation_seconds = {};
  /// At the end of a finished run, on the splits that train.evaluate_splits names.
  std::map<std::string, EvaluationRecord> splits = {};
  std::uint64_t updates = 0;     ///< how many the config asked for
  std::size_t vocabulary = 0;    ///< size of the target vocabulary
  std::string reused_from = "";  ///< the run folder of another study that it was taken from, if it was
};
std::vector<std::string> names_of(RunResult::Status);

/// Reads the text of a probe.jsonl. A last line without its newline is left out. Throws Error "name:line: ..." for
/// anything that a run does not write.
ProbeLog decode_probe(const std::string& text, const std::string& name);

}  // namespace surd
