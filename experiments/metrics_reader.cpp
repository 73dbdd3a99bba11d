#include "experiments/metrics_reader.hpp"

#include "train/files.hpp"

#include <nlohmann/json.hpp>

#include <limits>

namespace surd {
namespace {

using Json = nlohmann::json;

/// One line of the file.
struct Line {
  const std::string& name;
  std::size_t number;
  Json object;

  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> rule, Args&&... args) const {
    if (!holds) throw Error(fmt::format("{}:{}: {}", name, number, fmt::format(rule, std::forward<Args>(args)...)));
  }
  const Json& at(const char* key) const {
    const auto found = object.find(key);
    require(found != object.end(), "has no '{}'", key);
    return *found;
  }
  double real(const char* key) const {
    const Json& value = at(key);
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    require(value.is_number(), "'{}' is not a number", key);
    return value.get<double>();
  }
  std::uint64_t count(const char* key) const {
    const Json& value = at(key);
    require(value.is_number_unsigned(), "'{}' is not a count", key);
    return value.get<std::uint64_t>();
  }
  bool truth(const char* key) const {
    const Json& value = at(key);
    require(value.is_boolean(), "'{}' is neither true nor false", key);
    return value.get<bool>();
  }
};

UpdateRecord update_of(const Line& line) {
  return {line.count("update"),       line.count("epoch"),        line.real("loss"),
          line.real("gradient_norm"), line.real("learning_rate"), line.count("source_tokens"),
          line.count("target_tokens")};
}

EvaluationRecord evaluation_of(const Line& line) {
  EvaluationRecord record{line.count("update"),        line.real("loss"), line.real("perplexity"),
                          line.real("token_accuracy"), std::nullopt,      line.truth("best")};
  if (line.object.contains("sequence_accuracy")) record.sequence_accuracy = line.real("sequence_accuracy");
  return record;
}

}  // namespace

Metrics decode_metrics(const std::string& text, const std::string& name) {
  Metrics metrics;
  std::size_t number = 0;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const auto first = text.begin() + static_cast<std::ptrdiff_t>(begin);
    const Line line{name, ++number,
                    Json::parse(first, first + static_cast<std::ptrdiff_t>(end - begin), nullptr, false)};
    line.require(line.object.is_object(), "is not a JSON object");
    const Json& event = line.at("event");
    if (event == "update") {
      metrics.updates.push_back(update_of(line));
    } else {
      line.require(event == "evaluation", "'event' is neither \"update\" nor \"evaluation\"");
      metrics.evaluations.push_back(evaluation_of(line));
    }
  }
  return metrics;
}

Metrics read_metrics(const std::string& path) { return decode_metrics(read_file(path), path); }

}  // namespace surd
