#include "experiments/run/run_result.hpp"

#include "train/storage/json_object.hpp"

namespace surd {

std::vector<std::string> names_of(RunResult::Status) { return {"finished", "diverged", "failed"}; }

void ProbeLog::add(std::uint64_t update, const Probe::Record& record) {
  const std::size_t place = place_of(record.path, record.what, record.statistic, next_);
  if (place == series_.size()) series_.push_back({record.path, record.what, record.statistic, {}});
  series_[place].numbers.push_back({update, record.number});
  next_ = place + 1;
}

const ProbeSeries* ProbeLog::find(std::string_view path, std::string_view what, std::string_view statistic) const {
  const std::size_t place = place_of(path, what, statistic, 0);
  return place == series_.size() ? nullptr : &series_[place];
}

/// Looks from `first` on, and then at those before it; series_.size() if there is none.
std::size_t ProbeLog::place_of(std::string_view path, std::string_view what, std::string_view statistic,
                               std::size_t first) const {
  for (std::size_t i = 0; i < series_.size(); ++i) {
    const std::size_t place = (first + i) % series_.size();
    const ProbeSeries& series = series_[place];
    if (series.path == path && series.what == what && series.statistic == statistic) return place;
  }
  return series_.size();
}

ProbeLog decode_probe(const std::string& text, const std::string& name) {
  ProbeLog log;
  std::size_t line_number = 0;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const JsonObject line(std::string_view(text).substr(begin, end - begin), fmt::format("{}:{}", name, ++line_number),
                          "the file was changed by hand; remove the run's folder, and it is made again");
    log.add(line.count("update"), {line.text("path"), line.text("what"), line.text("statistic"), line.real("value")});
  }
  return log;
}

}  // namespace surd
