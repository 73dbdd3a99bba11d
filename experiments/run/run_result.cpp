#include "experiments/run/run_result.hpp"

#include "train/storage/json_object.hpp"

namespace surd {

std::vector<std::string> names_of(RunResult::Status) { return {"finished", "diverged", "failed"}; }

std::vector<ProbeNumber> decode_probe(const std::string& text, const std::string& name) {
  std::vector<ProbeNumber> numbers;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const JsonObject line(std::string_view(text).substr(begin, end - begin),
                          fmt::format("{}:{}", name, numbers.size() + 1),
                          "the file was changed by hand; remove the run's folder, and it is made again");
    numbers.push_back(
        {line.count("update"), {line.text("path"), line.text("what"), line.text("statistic"), line.real("value")}});
  }
  return numbers;
}

}  // namespace surd
