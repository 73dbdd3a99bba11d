#include "experiments/program/text_format.hpp"
#include "experiments/study/execution/metric_value.hpp"
#include "experiments/study/execution/study_results.hpp"
#include "experiments/study/report/write_report.hpp"
#include "tests/experiments/study/study_process.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

namespace {

using namespace surd;
using namespace surd::test;

TEST_CASE("a metric on a further split is read from what the run left, which cannot change unseen") {
  const StudyRun study(StudyFile::whole("seeds: 1\nmetrics: [{name: loss}, {name: test_loss, split: test}]\n"));
  const std::string set = "--set 'train.evaluate_splits=[test, train]'";
  REQUIRE(study.run("out", set).exit_code == 0);
  REQUIRE(study.run("kept", set + " --keep-checkpoints").exit_code == 0);
  CHECK(study.result("kept") == study.result("out"));
  StudyResults results(StudyFolder(study.directory.path("out")));
  const RunResult* run = results.find("alone/seed-1");
  REQUIRE(run != nullptr);
  CHECK(run->splits.size() == 2);
  const Study read = load_study(study.file, {"train.evaluate_splits=[test]"});
  const auto loss = metric_value(read, read.metric("test_loss"), 0, *run);
  REQUIRE(loss.has_value());

  const Outcome evaluated =
      program("eval " + study.directory.path("kept/runs/alone/seed-1") + " --split test --checkpoint last --json");
  CAPTURE(evaluated.output);
  REQUIRE(evaluated.exit_code == 0);
  CHECK(nlohmann::json::parse(evaluated.output)["loss"] == loss->low);

  const std::string file = study.directory.path("out/runs/alone/seed-1/summary.json");
  auto summary = nlohmann::json::parse(read_file(file));
  summary["splits"]["test"]["loss"] = 0;
  write_file_atomically(file, summary.dump());
  StudyResults changed(StudyFolder(study.directory.path("out")));
  CHECK_THROWS_WITH_AS(changed.find("alone/seed-1"),
                       doctest::Contains("summary.json: was changed after the run; remove the run's folder"), Error);
}

TEST_CASE("what a run spent until a target is read from what it left") {
  const StudyRun study(
      StudyFile::whole("seeds: 1\nmetrics:\n  - {name: tokens, kind: tokens_to, target: 100}\n"
                       "  - {name: seconds, kind: seconds_to, target: 100}\n"));
  REQUIRE(study.run("out", "--set train.evaluate_every=5").exit_code == 0);
  const Study read = load_study(study.file);
  StudyResults results(StudyFolder(study.directory.path("out")));
  const RunResult* run = results.find("alone/seed-1");
  REQUIRE(run != nullptr);
  REQUIRE(run->metrics.evaluations.size() == 4);
  const auto tokens = metric_value(read, read.metric("tokens"), 0, *run);
  const auto seconds = metric_value(read, read.metric("seconds"), 0, *run);
  REQUIRE(tokens.has_value());
  REQUIRE(seconds.has_value());
  CHECK(tokens->known());
  CHECK(tokens->low >= 5 * 4 * 2);  // updates of four pairs of a token and the end at least
  CHECK(seconds->known());
  CHECK(seconds->low > 0);
  CHECK(seconds->low < run->summary.at("wall_seconds"));

  const std::string file = study.directory.path("out/runs/alone/seed-1/summary.json");
  auto summary = nlohmann::json::parse(read_file(file));
  summary["evaluation_seconds"]["5th"] = 1;
  write_file_atomically(file, summary.dump());
  StudyResults damaged(StudyFolder(study.directory.path("out")));
  CHECK_THROWS_WITH_AS(damaged.find("alone/seed-1"),
                       doctest::Contains("summary.json: 'evaluation_seconds' has '5th' for the number of an update; "),
                       Error);
}

TEST_CASE("the command of a report makes the study again") {
  const StudyRun study(StudyFile::whole("seeds: 1\nquick: {set: {train.updates: 10}}\n"));
  const std::string file = study.directory.path("what's $HOME new.yaml");
  fs::rename(study.file, file);
  // Begun with a relative path, reported from somewhere else.
  const std::string there = "cd '" + fs::path(file).parent_path().string() + "' && " + SURD_EXECUTABLE;
  REQUIRE(shell(there + " study run \"what's \\$HOME new.yaml\" --quick --set 'train.batch_size=5' --out 'a b'")
              .exit_code == 0);
  REQUIRE(program("study report '" + study.directory.path("a b") + "'").exit_code == 0);
  const std::string page = read_file(study.directory.path("a b/report.html"));
  const std::string before = "To repeat it</h3><pre class=\"scroll\" tabindex=\"0\">";
  const std::size_t begin = page.find(before) + before.size();
  std::string command = page.substr(begin, page.find("</pre>", begin) - begin);
  for (const auto& [escaped, plain] : {std::pair("&#39;", "'"), std::pair("&apos;", "'"), std::pair("&amp;", "&")})
    command = replace_all(command, escaped, plain);
  REQUIRE(command.rfind("surd study run ", 0) == 0);
  const std::string elsewhere = study.directory.path("elsewhere");
  fs::create_directories(elsewhere);
  const Outcome again =
      shell("surd() { " + std::string(SURD_EXECUTABLE) + " \"$@\"; }; cd '" + elsewhere + "' && " + command);
  CHECK_MESSAGE(again.exit_code == 0, command << '\n' << again.output);
  const std::string run = "/runs/alone/seed-1/config.yaml";
  CHECK(read_file(elsewhere + "/a b-again" + run) == read_file(study.directory.path("a b") + run));
}

TEST_CASE("the command of a report has --anyway where the study was refused without it, extended or not") {
  for (const auto& [seeds, anyway] : {std::pair("6", true), std::pair("7", false)}) {
    const StudyFile study;
    const StudySource source{
        study.write(StudyFile::whole(
            "arms: [{name: a}, {name: b, set: {model.embedding.scale: one}}]\nlooks: 2\nseeds: " + std::string(seeds) +
            "\nmetrics: [{name: loss}]\nhypotheses: [{name: H, metric: loss, arm: {arm: a}, "
            "against: {arm: b}, expect: lower}]\n")),
        {},
        false,
        {}};
    const StudyFolder folder(study.directory.path("out"));
    folder.freeze(source, load_study(source), false);
    folder.extend(2);
    REQUIRE(write_report(StudyReport(folder, folder.study()), folder).empty());
    const std::string page = read_file(folder.path() + "/report.html");
    CAPTURE(seeds);
    CHECK(contains(page, std::string(anyway ? " --anyway" : "study.yaml") +
                             " --out out-again\nsurd study extend out-again --seeds 2<"));
  }
}

TEST_CASE("verdicts are told even where the report cannot be written, with how to write it later") {
  const StudyRun study(StudyFile::whole(
      "seeds: 1\nmetrics: [{name: loss, kind: final_value}]\nhypotheses: [{name: The loss is low, kind: value, "
      "metric: loss, expect: at_most, formula: '9'}]\n"));
  const std::string folder = study.directory.path("out");
  REQUIRE(study.run("out", "--anyway --jobs 0").exit_code == 0);
  fs::create_directories(folder + "/report.md");  // a file cannot have its name
  for (const std::string& command :
       {"study run " + study.file + " --resume --out " + folder, "study report " + folder}) {
    const Outcome unwritten = program(command);
    CHECK(unwritten.exit_code == 1);
    CHECK(contains(unwritten.output, "The loss is low"));
    CHECK(
        contains(unwritten.output, "once there is room for it, the report is written by: surd study report " + folder));
  }
  fs::remove(folder + "/report.md");
  CHECK(program("study report " + folder).exit_code == 0);
}

TEST_CASE("study export prints rows, or a table of verdicts") {
  const StudyRun study(StudyFile::whole(
      "seeds: 1\nmetrics: [{name: loss, kind: final_value}]\nhypotheses: [{name: The loss is low, kind: value, "
      "metric: loss, expect: at_most, formula: '9'}]\n"));
  REQUIRE(study.run("out", "--anyway").exit_code == 0);
  const std::string folder = study.directory.path("out");
  CHECK(program("study export " + folder).output.rfind("run,settings,seed,", 0) == 0);
  CHECK(contains(program("study export --latex " + folder).output, "  The loss is low & "));
  CHECK(contains(program("study export --markdown " + folder).output, "| The loss is low | "));
  const Outcome both = program("study export --markdown --latex " + folder);
  CHECK(both.exit_code == 2);
  CHECK(contains(both.output, "--markdown: is given beside --latex; give one of them"));
}

TEST_CASE("status and report know the folder of a group") {
  const StudyRun study(
      StudyFile::whole("seeds: 1\n"
                       "metrics: [{name: loss, kind: final_value}]\n"
                       "hypotheses:\n"
                       "  - {name: Low, claim: 3, kind: value, metric: loss, expect: at_most, formula: '9'}\n"
                       "  - {name: 'Is it <1>?', kind: value, metric: loss, expect: at_most, formula: '1'}\n"));
  study.directory.write("and #2.yaml", read_file(study.file));
  study.directory.write("group.yaml", "question: Is <it> so?\nstudies: [study, 'and #2']\n");
  const std::string folder = study.directory.path("all");
  REQUIRE(program("study run " + study.directory.path("group.yaml") + " --anyway --out " + folder).exit_code == 0);
  const Outcome status = program("study status " + folder);
  CHECK(status.exit_code == 0);
  CHECK(status.output.rfind("Is <it> so?\n\nstudy\nA study\n", 0) == 0);
  CHECK(contains(status.output, "\nand #2\n"));

  for (const char* file : {"/report.html", "/report.md", "/verdicts.json", "/study/report.html"})
    REQUIRE(fs::remove(folder + file));
  const Outcome report = program("study report " + folder);
  CHECK(report.exit_code == 0);
  CHECK(contains(report.output, "Is <it> so?\n  undecided  Claim 3: The factor balances tokens and positions\n"));
  CHECK(fs::exists(folder + "/study/report.html"));
  const std::string page = read_file(folder + "/report.html");
  CHECK(contains(page, "<h1>Is &lt;it&gt; so?</h1>"));
  CHECK(contains(page, "<p class=\"answer\">The claim is undecided.</p>"));
  CHECK(contains(page, "<a href=\"study/report.html#hypothesis-1\">Low</a>"));
  CHECK(contains(page, "<a href=\"and%20%232/report.html#hypothesis-2\">Is it &lt;1&gt;?</a>"));
  CHECK(contains(page, "<h2>Beside the claims</h2>"));
  CHECK_FALSE(contains(page, "Unfinished"));
  CHECK(contains(read_file(folder + "/verdicts.json"), "\"answer\": \"The claim is undecided.\""));
  REQUIRE(fs::remove(folder + "/report.html"));
  REQUIRE(program("study report " + folder + "/study/").exit_code == 0);  // of one study, and of the group around it
  CHECK(read_file(folder + "/report.html") == page);

  // A report that cannot be written keeps no other study from its own.
  REQUIRE(fs::remove(folder + "/study/report.md"));
  fs::create_directories(folder + "/study/report.md");
  for (const std::string& command : {"study report " + folder, "study run " + study.directory.path("group.yaml") +
                                                                   " --anyway --resume --out " + folder}) {
    REQUIRE(fs::remove(folder + "/and #2/report.html"));
    const Outcome unwritten = program(command);
    CAPTURE(unwritten.output);
    CHECK(unwritten.exit_code == 1);
    CHECK(contains(unwritten.output, "the report is written by: surd study report " + folder + "/study\n"));
    CHECK(contains(unwritten.output, "undecided  Claim 3: "));
    CHECK(fs::exists(folder + "/and #2/report.html"));
  }
  fs::remove(folder + "/study/report.md");

  // A sibling that is damaged is no fault of the study.
  const std::string sibling = folder + "/and #2/study.json", whole = read_file(sibling);
  write_file_atomically(sibling, "[]");
  for (const std::string& command :
       {"study report " + folder + "/study", "study run " + study.file + " --resume --out " + folder + "/study"}) {
    const Outcome alone = program(command);
    CAPTURE(alone.output);
    CHECK(alone.exit_code == 0);
    CHECK(contains(alone.output, "warning: the report of the group that this study belongs to was not written: "));
    CHECK(contains(alone.output, "and #2/study.json: is not a JSON object"));
    CHECK(contains(alone.output, "\nreport      " + folder + "/study/report.html\n"));
  }
  write_file_atomically(sibling, whole);

  fs::remove_all(folder + "/and #2");
  CHECK(contains(program("study status " + folder).output, "\nand #2: not begun\n"));
  REQUIRE(program("study report " + folder).exit_code == 0);
  CHECK(contains(read_file(folder + "/report.html"), "<strong>Unfinished:</strong> not begun: and #2; everything"));
  CHECK(contains(read_file(folder + "/report.md"), "- and #2: not begun.\n"));
  study.directory.write("all/group.json", "{\"question\": 3}");
  const Outcome damaged = program("study status " + folder);
  CHECK(damaged.exit_code == 1);
  CHECK(contains(damaged.output, "all/group.json"));
  for (const char* studies :
       {"[]", "[\"../../etc\"]", "[\"..\"]", "[\".\"]", "[\"\"]", "[\"/etc\"]", "[\"study/runs\"]", "5"}) {
    study.directory.write("all/group.json", std::string("{\"question\": \"Q?\", \"studies\": ") + studies + "}");
    const Outcome elsewhere = program("study status " + folder);
    CAPTURE(studies);
    CHECK(elsewhere.exit_code == 1);
    CHECK(contains(elsewhere.output, "all/group.json: 'studies' is no list of names of studies; it was changed"));
  }
}

TEST_CASE("the report of a group says what it rests on") {
  const std::string text = StudyFile::whole(
      "seeds: 6\nmetrics: [{name: loss, kind: initial_value}]\nquick: {seeds: 1}\n"
      "arms: [{name: a, set: {train.updates: 1, train.evaluate_at_start: true}}]\n"
      "hypotheses: [{name: Low, claim: 3, kind: value, metric: loss, expect: at_most, formula: '9'}]\n");
  const StudyRun study(text);
  study.directory.write("other.yaml", text);
  const std::string group = study.directory.write("group.yaml", "question: Is it?\nstudies: [study, other]\n");
  const auto verdicts = [&](const std::string& folder) {
    return nlohmann::json::parse(read_file(folder + "/verdicts.json"));
  };
  const std::string quick = study.directory.path("quick"), whole = study.directory.path("whole");
  REQUIRE(program("study run " + group + " --quick --out " + quick).exit_code == 0);
  CHECK(contains(read_file(quick + "/report.md"), "\nUnfinished: cut down by --quick, to be tried: nothing in it is"));
  CHECK(verdicts(quick)["quick"] == true);

  REQUIRE(program("study run " + group + " --out " + whole).exit_code == 0);
  CHECK(verdicts(whole)["quick"] == false);
  CHECK(verdicts(whole)["claims"][0]["verdict"] == "supported");
  fs::remove_all(whole + "/other");
  REQUIRE(program("study report " + whole).exit_code == 0);
  CHECK(verdicts(whole)["claims"][0]["verdict"] == "undecided");
  CHECK(verdicts(whole)["not_begun"] == nlohmann::json({"other"}));
}

TEST_CASE("a joint tuning runs to its report, which says how flat the optimum is") {
  const StudyRun study(StudyFile::whole(
      "arms: [{name: a}, {name: b, set: {model.embedding.scale: one}}]\nseeds: 1\n"
      "metrics:\n  - {name: loss, kind: final_value}\n"
      "tuning: {metric: loss, seeds: 2, search: jointly, settings: 3, axes: [{name: rate, key: "
      "optimizer.learning_rate, values: [0.001, 0.01]}, {name: decay, key: train.clip_norm, values: [0.5, 1]}]}\n"));
  const Outcome outcome = study.run("a");
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.output, "3 of 4 settings jointly"));
  CHECK(contains(outcome.output, "with all of the tuning at most 16"));
  const std::string report = read_file(study.directory.path("a/report.md"));
  CHECK(
      contains(report,
               "| Arm | Best | At the edge of the grid | Settings tried | Ahead of the next by | Others not told apart "
               "| Runs |\n"));
  CHECK(contains(report, "| yes | 3 | "));
  const auto verdicts = nlohmann::json::parse(read_file(study.directory.path("a/verdicts.json")));
  REQUIRE(verdicts["tuned"].size() == 2);
  CHECK(verdicts["tuned"][1]["flatness"]["tried"] == 3);
  CHECK(verdicts["tuned"][1]["flatness"]["ahead"].get<double>() >= 0);
  CHECK(verdicts["tuned"][1]["flatness"]["not_told_apart"].is_number());
  const std::string page = read_file(study.directory.path("a/report.html"));
  CHECK(contains(page, "Each point is the best of the settings with this rate that were tried."));
  CHECK(contains(page, "How flat the optimum is: arm=a: "));
}

TEST_CASE("the folder of a group and that of a study are told apart") {
  const StudyRun study(StudyFile::whole("seeds: 1\n"));
  study.directory.write("group.yaml", "question: A question?\nstudies: [study]\n");
  const std::string group = "study run " + study.directory.path("group.yaml") + " --out ";
  REQUIRE(program(group + study.directory.path("all")).exit_code == 0);
  const Outcome work = program("study work " + study.directory.path("all"));
  CHECK(work.exit_code == 2);
  CHECK(contains(work.output, "is the folder of a group of studies; name one of them in it: study"));
  const std::string pipe = study.directory.path("pipe"), latin = study.directory.path("\xe4.yaml");
  REQUIRE(::mkfifo(pipe.c_str(), 0666) == 0);
  CHECK(contains(program("study check " + pipe).output, "is no regular file, and a study is read more than once"));
  write_file_atomically(latin, read_file(study.file));
  CHECK(contains(program("study run " + latin + " --out " + study.directory.path("latin")).output,
                 "is a path that is not UTF-8, and study.json must be; rename it"));
  CHECK_FALSE(fs::exists(study.directory.path("latin")));
  study.directory.write("later.yaml", read_file(study.file));
  REQUIRE(study.run("two/later").exit_code == 0);  // which holds a study already
  study.directory.write("two.yaml", "question: Another?\nstudies: [study, later]\n");
  const Outcome refused =
      program("study run " + study.directory.path("two.yaml") + " --out " + study.directory.path("two"));
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.output, "two/later: holds a study already; --resume goes on with it"));
  CHECK_FALSE(fs::exists(study.directory.path("two/study")));  // nothing was made before that was known
  const Outcome inside = program(group + study.directory.path("all/study") + " --resume");
  CHECK(inside.exit_code == 2);
  CHECK(contains(inside.output, "holds a single study; name another folder by --out"));
}

}  // namespace
