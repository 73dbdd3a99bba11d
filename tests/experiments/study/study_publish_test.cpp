#include "experiments/program/gzip.hpp"
#include "tests/experiments/study/study_process.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace surd;
using namespace surd::test;

std::string text_in(const std::string& html) {  // but for what says where and with which program it was made
  const auto at = html.find("To repeat it"), data = html.find("<script");
  REQUIRE(at != std::string::npos);
  REQUIRE(data != std::string::npos);
  return html.substr(0, at) + html.substr(data);
}

TEST_CASE("published results are all that a report needs") {
  const StudyRun study;
  REQUIRE(study.run("out").exit_code == 0);
  const std::string out = study.directory.path("out"), results = study.directory.path("results/deep");
  const Outcome published = program("study publish " + out + " --out " + results);
  CAPTURE(published.output);
  REQUIRE(published.exit_code == 0);
  CHECK(read_file(results + "/verdicts.json") == read_file(out + "/verdicts.json"));
  CHECK(read_file(results + "/report.md") == read_file(out + "/report.md"));
  CHECK(gunzip(read_file(results + "/runs.csv.gz"), "") == read_file(out + "/runs.csv"));

  const auto verdicts = nlohmann::json::parse(read_file(results + "/verdicts.json"));
  REQUIRE(verdicts["made_by"].size() == 1);
  CHECK(verdicts["made_by"][0]["runs"] == verdicts["runs"]["planned"]);
  CHECK(verdicts["made_by"][0]["core_hours"] > 0);
  const auto summary = nlohmann::json::parse(read_file(out + "/runs/scale=one,rho=low/seed-1/summary.json"));
  CHECK(verdicts["made_by"][0]["git_commit"] == summary["git_commit"]);
  CHECK(verdicts["made_by"][0]["cpu"] == summary["cpu"]);

  CHECK(contains(program("study status " + results).output, "holds published results, without the runs"));
  CHECK(contains(program("study status " + results + "/report.md").output, "is a file; name the folder"));

  fs::remove_all(out + "/runs");  // nobody needs them any more
  const Outcome reported = program("study report " + results);
  CAPTURE(reported.output);
  REQUIRE(reported.exit_code == 0);
  CHECK(contains(reported.output, "results/deep/report.html"));
  CHECK(text_in(read_file(results + "/report.html")) == text_in(read_file(out + "/report.html")));
}

TEST_CASE("what is not to be believed is not published, and a damaged page is told") {
  const StudyRun study(StudyFile::whole("seeds: 2\nmetrics: [{name: loss}]\nquick: {seeds: 1}\n"));
  const std::string results = study.directory.path("results");
  const auto refused = [&](const std::string& folder) {
    const Outcome outcome = program("study publish " + study.directory.path(folder) + " --out " + results);
    CHECK(outcome.exit_code == 2);
    CHECK_FALSE(fs::exists(results));
    return outcome.output;
  };
  REQUIRE(study.run("quick", "--quick").exit_code == 0);
  CHECK(contains(refused("quick"), "was cut down by --quick, and nothing in it is evidence; run it whole"));
  REQUIRE(study.run("out").exit_code == 0);
  fs::remove_all(study.directory.path("out/runs/alone/seed-2"));
  CHECK(contains(refused("out"), "1 of its runs have not ended; go on with surd study run --resume"));
  CHECK(contains(refused("nowhere"), "is not the folder of a study"));

  REQUIRE(study.run("out", "--resume").exit_code == 0);
  const std::string out = study.directory.path("out");
  CHECK(contains(program("study publish " + out + " --out " + out).output, "is the folder of a study or a group"));
  CHECK_FALSE(fs::exists(out + "/report.json.gz"));
  const std::string group = study.directory.path("group");
  fs::create_directories(group);
  write_file_atomically(group + "/group.json", "{}");
  CHECK(contains(program("study publish " + out + " --out " + group).output, "is the folder of a study or a group"));
  REQUIRE(program("study publish " + study.directory.path("out") + " --out " + results).exit_code == 0);
  const std::string page = results + "/report.json.gz", bytes = read_file(page);
  for (const std::string& damaged :
       {bytes.substr(0, bytes.size() / 2), std::string("no gzip"), gzip("{}"), gzip("[")}) {
    write_file_atomically(page, damaged);
    const Outcome outcome = program("study report " + results);
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.output, "report.json.gz: is"));
    CHECK(contains(outcome.output, "fetch it again"));
  }
}

TEST_CASE("gzip comes back, is the same for the same bytes, and may be empty or large") {
  std::string large;
  for (int i = 0; i < 100000; ++i) large += std::to_string(i * 7919);
  for (const std::string& bytes : {std::string(), std::string("\0a\n", 3), large}) {
    CHECK(gunzip(gzip(bytes), "file") == bytes);
    CHECK(gzip(bytes) == gzip(bytes));
  }
  CHECK(gzip(large).size() < large.size());
  for (const std::string& damaged : {std::string("text"), gzip("a") + "b", gzip("a") + gzip("b")})
    CHECK_THROWS_WITH_AS(gunzip(damaged, "a.gz"), doctest::Contains("a.gz: is no gzip file, or a damaged one"), Error);
}

}  // namespace
