#include "experiments/run/logs/json_log.hpp"

#include <charconv>

namespace surd {

std::string LogPosition::text() const {
  return fmt::format("{},{}", metrics, probe) + (seconds ? fmt::format(",{}", *seconds) : "");
}

LogPosition LogPosition::parse(const std::string& text, const std::string& path) {
  LogPosition position;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, position.metrics);
  const bool comma = first.ec == std::errc() && first.ptr != end && *first.ptr == ',';
  auto last = comma ? std::from_chars(first.ptr + 1, end, position.probe) : first;
  if (comma && last.ec == std::errc() && last.ptr != end && *last.ptr == ',')
    last = std::from_chars(last.ptr + 1, end, position.seconds.emplace());
  expect(comma && last.ec == std::errc() && last.ptr == end, path,
         "bad log position '{}'; remove the file, and --resume uses the one before it", text);
  return position;
}

JsonLog::JsonLog(const RunFolder& folder, const LogPosition& position, bool with_probe)
    : metrics_(folder.metrics(), position.metrics) {
  if (with_probe) probe_.emplace(folder.probe(), position.probe);
}

void JsonLog::probed(std::uint64_t update, const std::vector<Probe::Record>& records) {
  if (records.empty()) return;
  std::string lines;  // hundreds, for one call of the system
  for (const Probe::Record& record : records) (lines += lines.empty() ? "" : "\n") += to_json_line(update, record);
  probe_->write(lines);
}

}  // namespace surd
