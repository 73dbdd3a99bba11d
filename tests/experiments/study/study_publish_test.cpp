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

  const Outcome compared = program("study compare " + results + " " + out);
  CHECK(compared.exit_code == 0);
  CHECK_FALSE(contains(compared.output, "differs"));
  CHECK_FALSE(contains(compared.output, "tuned otherwise"));

  fs::remove_all(out + "/runs");  // nobody needs them any more
  const Outcome reported = program("study report " + results);
  CAPTURE(reported.output);
  REQUIRE(reported.exit_code == 0);
  CHECK(contains(reported.output, "results/deep/report.html"));
  CHECK(text_in(read_file(results + "/report.html")) == text_in(read_file(out + "/report.html")));
  const StudyRun other(StudyFile::whole("seeds: 1\n"));
  REQUIRE(other.run("other", "--anyway").exit_code == 0);
  REQUIRE(program("study publish " + other.directory.path("other") + " --out " + results).exit_code == 0);
  CHECK_FALSE(fs::exists(results + "/report.html"));  // that of other results
  std::string another = StudyFile::whole("seeds: 1\n");
  const StudyRun renamed(another.replace(another.find("A study"), 1, "Another"));
  REQUIRE(renamed.run("renamed", "--anyway").exit_code == 0);
  const std::string kept = read_file(results + "/verdicts.json");
  const Outcome mistaken = program("study publish " + renamed.directory.path("renamed") + " --out " + results);
  CHECK(mistaken.exit_code == 2);
  CHECK(contains(mistaken.output, "results/deep: holds the results of another study, \"A study\"; remove it"));
  CHECK(read_file(results + "/verdicts.json") == kept);
  const std::string page = read_file(results + "/report.json.gz");
  write_file_atomically(results + "/report.json.gz", page.substr(0, page.size() / 2));
  const Outcome damaged = program("study publish " + other.directory.path("other") + " --out " + results);
  CHECK(damaged.exit_code == 2);
  CHECK(contains(damaged.output, "remove the folder, or name another --out"));
  write_file_atomically(results + "/report.json.gz", page);
  fs::create_directories(other.directory.path("site"));
  other.directory.write("site/report.html", "of somebody else");
  const Outcome foreign =
      program("study publish " + other.directory.path("other") + " --out " + other.directory.path("site"));
  CHECK(foreign.exit_code == 2);
  CHECK(contains(foreign.output, "site/report.html: is not of a published study; remove it, or name another --out"));
  CHECK(read_file(other.directory.path("site/report.html")) == "of somebody else");
}

TEST_CASE("two times a study are compared statement by statement") {
  const auto study_of = [](const std::string& statements) {
    return StudyFile::whole(
        "arms: [{name: a}, {name: b, set: {train.updates: 1}}]\nseeds: 1\nmetrics: [{name: loss}]\n"
        "hypotheses:\n" +
        statements);
  };
  const auto statement = [](const std::string& name, const std::string& formula) {
    return "- {name: " + name + ", kind: value, metric: loss, arm: {arm: a}, expect: at_most, formula: '" + formula +
           "'}\n";
  };
  const StudyRun first(study_of(statement("It is small", "9") + statement("It is there", "9"))),
      second(study_of(statement("It is small", "0.01") + statement("It is new", "9")));
  REQUIRE(first.run("out", "--anyway").exit_code == 0);
  REQUIRE(second.run("out", "--anyway").exit_code == 0);
  const std::string before = first.directory.path("out"), now = second.directory.path("out");
  const Outcome same = program("study compare " + before + " " + before);
  CHECK(same.exit_code == 0);
  CHECK(contains(same.output, "\n2 of 2 verdicts agree\n"));
  const Outcome other = program("study compare " + before + " " + now);
  CAPTURE(other.output);
  CHECK(other.exit_code == 1);
  CHECK(contains(other.output, "same     undecided\n         It is small\n"));
  CHECK(contains(other.output, "\nasked otherwise\n  hypotheses.0.formula: 9 -> 0.01\n"));
  CHECK(contains(other.output, "differs  undecided -> not asked\n         It is there\n"));
  CHECK(contains(other.output, "differs  not asked -> undecided\n         It is new\n"));
  CHECK(contains(other.output, "\n1 of 3 verdicts agree, but not the same was asked\n"));

  const std::string results = first.directory.path("results");
  REQUIRE(program("study publish " + before + " --out " + results).exit_code == 0);
  nlohmann::json verdicts = nlohmann::json::parse(read_file(results + "/verdicts.json"));
  verdicts["hypotheses"][1]["verdict"] = "supported";
  write_file_atomically(results + "/verdicts.json", verdicts.dump());
  const Outcome turned = program("study compare " + results + " " + before);
  CHECK(turned.exit_code == 1);
  CHECK(contains(turned.output, "differs  supported -> undecided\n         It is there\n"));
  CHECK(contains(turned.output, "\n1 of 2 verdicts agree\n"));
  verdicts["seeds"] = {1, 2};
  write_file_atomically(results + "/verdicts.json", verdicts.dump());
  CHECK(contains(program("study compare " + results + " " + before).output, "\nasked otherwise\n  seeds: 2 -> 1\n"));
  verdicts["data"] = {{{"train", {{"pairs", 3}, {"xxh3", "0123"}}}}};
  write_file_atomically(results + "/verdicts.json", verdicts.dump());
  CHECK_FALSE(contains(program("study compare " + results + " " + before).output, "data: "));  // that has none
  fs::copy(results, results + "-other", fs::copy_options::recursive);
  verdicts["data"][0]["train"]["xxh3"] = "4567";
  write_file_atomically(results + "-other/verdicts.json", verdicts.dump());
  CHECK(contains(program("study compare " + results + " " + results + "-other").output,
                 "asked otherwise\n  data: [{\"train\":{\"pairs\":3,\"xxh3\":\"0123\"}}] ->\n"));
  write_file_atomically(results + "/verdicts.json", "{");
  const Outcome damaged = program("study compare " + results + " " + now);
  CHECK(damaged.exit_code == 1);
  CHECK(contains(damaged.output, "verdicts.json: is damaged; fetch it again"));
  CHECK(contains(program("study compare " + before + " nowhere").output, "is not the folder of a study"));
}

TEST_CASE("a setting of the base that the first arm overrides is compared too") {
  const auto study_with = [](const std::string& updates) {
    const std::string base = "updates: 20";
    std::string text =
        StudyFile::whole("arms: [{name: a, set: {train.updates: 10}}, {name: b}]\nseeds: 1\nmetrics: [{name: loss}]\n");
    return text.replace(text.find(base), base.size(), "updates: " + updates);
  };
  const StudyRun first(study_with("20")), second(study_with("30"));
  REQUIRE(first.run("out", "--anyway").exit_code == 0);
  REQUIRE(second.run("out", "--anyway").exit_code == 0);
  const Outcome compared = program("study compare " + first.directory.path("out") + " " + second.directory.path("out"));
  CAPTURE(compared.output);
  CHECK(compared.exit_code == 1);
  CHECK(contains(compared.output, "\nasked otherwise\n  base.train.updates: 20 -> 30\n"));
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
  fs::rename(out + "/study.yaml", out + "/away.yaml");
  CHECK(
      contains(program("study status " + out).output, "/study.yaml: is missing, and the study's runs belong to what"));
  fs::rename(out + "/away.yaml", out + "/study.yaml");
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
