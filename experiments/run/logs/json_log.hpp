#pragma once

#include "experiments/run/logs/run_log.hpp"
#include "experiments/run/metrics_log.hpp"
#include "experiments/run/run_folder.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace surd {

/// Where the two JSON-lines files of a run stood, as a checkpoint keeps it: "metrics,probe"; of a run with a limit of
/// time also the seconds it had taken, "metrics,probe,seconds".
struct LogPosition {
  std::uint64_t metrics = 0, probe = 0;
  std::optional<double> seconds = {};

  std::string text() const;
  /// Throws Error, naming the checkpoint's file `path`, when the text is not what text() writes.
  static LogPosition parse(const std::string& text, const std::string& path);
};

/// metrics.jsonl and, of a run with a probe, probe.jsonl.
class JsonLog : public RunLog {
 public:
  /// Cuts the files back to `position`.
  JsonLog(const RunFolder& folder, const LogPosition& position, bool with_probe);

  void updated(const UpdateRecord& record) override { metrics_.write(to_json_line(record)); }
  void evaluated(const EvaluationRecord& record, const std::vector<SampleTranslation>&) override {
    metrics_.write(to_json_line(record));
  }
  void probed(std::uint64_t update, const std::vector<Probe::Record>& records) override;

  /// Syncs the files and returns where they stand.
  LogPosition sync() { return {metrics_.sync(), probe_ ? probe_->sync() : 0, {}}; }

 private:
  JsonLines metrics_;
  std::optional<JsonLines> probe_;
};

}  // namespace surd
