#pragma once

#include "experiments/study/execution/study_results.hpp"
#include "experiments/study/execution/workers/leases.hpp"
#include "tests/experiments/study/study_process.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace surd::test {

inline std::string seeds(std::size_t count) { return "seeds: " + std::to_string(count) + "\n"; }

/// A study that was begun and waits for its workers.
struct BegunStudy : StudyRun {
  explicit BegunStudy(const std::string& text, const std::string& more = "") : StudyRun(text) {
    const Outcome begun = run("study", "--jobs 0 --anyway " + more);
    CAPTURE(begun.output);
    REQUIRE(begun.exit_code == 0);
  }

  std::string path() const { return directory.path("study"); }
  StudyFolder folder() const { return StudyFolder(path()); }
  std::string work(const std::string& more = "") const {
    return std::string(SURD_EXECUTABLE) + " study work " + path() + " " + more;
  }
  /// So many workers at once, with this before each; the exit code of the first that does not end with 0.
  Outcome workers(std::size_t count, const std::string& environment = "") const {
    std::string command = "all=; ";
    for (std::size_t i = 0; i < count; ++i) command += environment + " " + work() + " & all=\"$all $!\"; ";
    return shell(command + "code=0; for one in $all; do wait $one || code=$?; done; exit $code");
  }
  /// What the study is judged by. Who made it, in how long, is left out.
  std::pair<std::string, std::string> results(const std::string& name = "study") const {
    const Outcome report = program("study report " + directory.path(name));
    CAPTURE(report.output);
    CHECK(report.exit_code == 0);
    auto verdicts = nlohmann::ordered_json::parse(read_file(directory.path(name) + "/verdicts.json"));
    verdicts.erase("made_by");
    return {verdicts.dump(), read_file(directory.path(name) + "/runs.csv")};
  }
  /// The same of a study that one worker made undisturbed.
  std::pair<std::string, std::string> undisturbed(const std::string& more = "") const {
    const Outcome whole = run("undisturbed", "--jobs 1 --anyway " + more);
    CAPTURE(whole.output);
    REQUIRE(whole.exit_code == 0);
    return results("undisturbed");
  }
};

}  // namespace surd::test
