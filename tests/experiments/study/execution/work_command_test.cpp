#include "tests/experiments/study/execution/begun_study.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <functional>

/// surd study work, status, retry and doctor DIR: what they print, and how they end.
namespace {

using namespace surd;
using namespace surd::test;

const std::string long_run = "set: {train.updates: 1000000}\n";

TEST_CASE("a worker that is out of time or has nothing to do ends with 75, and one that can finish nothing with 1") {
  const BegunStudy study(StudyFile::whole(seeds(1) + long_run)),
      kept(StudyFile::whole(seeds(1) + long_run), "--keep-checkpoints");
  const Outcome lost = shell(study.work("--for 3s"));  // enough to begin a run on a busy machine
  CHECK(lost.exit_code == 1);
  CHECK(contains(lost.output, "no run ended in the time of --for: those that are left take longer"));
  const Outcome saved = shell(kept.work("--for 1s"));
  CHECK(saved.exit_code == 75);
  CHECK(contains(saved.output, "no run that is left fits into the time left; runs are left, and another surd study"));
  CHECK(shell(kept.work("--for 1s")).exit_code == 75);
  const std::string attempts = kept.folder().attempts("alone/seed-1");
  CHECK(names_in(attempts).size() == 1);

  const pid_t other = start({"study", "work", study.path()});
  for (int i = 0; i < 6000 && !worker_at(study.path(), "alone/seed-1"); ++i) wait_milliseconds(5);
  const Outcome idle = shell(study.work("--idle 0.5s"));
  ::kill(other, SIGTERM);
  ::waitpid(other, nullptr, 0);
  CHECK(idle.exit_code == 75);
  CHECK(contains(idle.output, "there was nothing to do; other workers are at the last runs"));
}

TEST_CASE("a worker begins no run that will not end in time") {
  const BegunStudy study(
      StudyFile::whole("arms: [{name: short}, {name: long, set: {train.updates: 10000000}}]\n" + seeds(2)));
  // As if a run of this arm had taken an hour.
  const StudyRun fast(StudyFile::whole("arms: [{name: short}, {name: long, set: {train.batch_size: 5}}]\n" + seeds(1)));
  REQUIRE(fast.run("fast").exit_code == 0);
  const std::string run = study.folder().run("arm=long/seed-1");
  fs::create_directories(run);
  fs::copy(fast.directory.path("fast/runs/arm=long/seed-1"), run, fs::copy_options::recursive);
  auto summary = nlohmann::ordered_json::parse(read_file(run + "/summary.json"));
  summary["wall_seconds"] = 3600;
  write_file_atomically(run + "/summary.json", summary.dump());
  const Outcome worker = shell(study.work("--for 10m"));
  CAPTURE(worker.output);
  CHECK(worker.exit_code == 75);
  CHECK(contains(worker.output, "finished  arm=short/seed-2"));
  CHECK_FALSE(contains(worker.output, "arm=long/seed-2"));

  // Some room is left for a run to take longer, but not where that would leave out a run that a whole --for is enough
  // for.
  summary["wall_seconds"] = 9;
  write_file_atomically(run + "/summary.json", summary.dump());
  CHECK(shell(study.work("--for 10")).exit_code == 1);  // begun, and not done: it takes minutes
  summary["wall_seconds"] = 11;
  write_file_atomically(run + "/summary.json", summary.dump());
  const Outcome refused = shell(study.work("--for 10"));
  CHECK(refused.exit_code == 1);
  CHECK(contains(refused.output, "those that are left take longer"));
}

TEST_CASE("a worker asks Slurm to run its task again, and only where Slurm started it") {
  const BegunStudy study(StudyFile::whole(seeds(1) + long_run), "--keep-checkpoints");
  const Outcome alone = shell("unset SLURM_JOB_ID SLURM_ARRAY_JOB_ID; " + study.work("--for 1s --requeue"));
  CHECK(alone.exit_code == 2);
  CHECK(contains(alone.output, "--requeue: this process was not started by Slurm: it has no SLURM_JOB_ID"));
  const std::string scontrol = study.directory.write("scontrol", "#!/bin/sh\necho scontrol was told: $@\n");
  REQUIRE(::chmod(scontrol.c_str(), 0755) == 0);
  const std::string path = "PATH=" + study.directory.path() + ":$PATH ";
  const Outcome array =
      shell(path + "SLURM_JOB_ID=8 SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=3 " + study.work("--for 1s --requeue"));
  CHECK(array.exit_code == 0);
  CHECK(contains(array.output, "scontrol was told: requeue 7_3"));
  study.directory.write("scontrol", "#!/bin/sh\nexit 1\n");
  const Outcome failed = shell(path + "SLURM_JOB_ID=8 " + study.work("--for 1s --requeue"));
  CHECK(failed.exit_code == 75);
  CHECK(contains(failed.output, "scontrol requeue 8 failed"));

  // It does not where it was told to end.
  const std::string told = study.directory.path("told");
  study.directory.write("scontrol", "#!/bin/sh\ntouch " + told + "\n");
  const std::string own_path = std::getenv("PATH");
  ::setenv("PATH", (study.directory.path() + ":" + own_path).c_str(), 1);
  ::setenv("SLURM_JOB_ID", "8", 1);
  const pid_t worker = start({"study", "work", study.path(), "--requeue"});
  ::unsetenv("SLURM_JOB_ID");
  ::setenv("PATH", own_path.c_str(), 1);
  for (int i = 0; i < 6000 && !worker_at(study.path(), "alone/seed-1"); ++i) wait_milliseconds(5);
  ::kill(worker, SIGTERM);
  int status = 0;
  ::waitpid(worker, &status, 0);
  CHECK(WEXITSTATUS(status) == 75);
  CHECK_FALSE(fs::exists(told));
  CHECK(program("study work " + study.path() + " --for 5x").exit_code == 2);
}

TEST_CASE("the status of a study and of a group is told as JSON") {
  const BegunStudy study(tuned_study);
  const auto status = [&](const std::string& folder) {
    const Outcome printed = program("study status --json " + folder);
    CAPTURE(printed.output);
    REQUIRE(printed.exit_code == 0);
    return nlohmann::json::parse(printed.output);
  };
  const auto before = status(study.path());
  CHECK(before["planned"] == 16);
  CHECK(before["at_most"] == 32);
  CHECK(before["finished"] == 0);
  CHECK(before["complete"] == false);
  REQUIRE(shell(study.work()).exit_code == 0);
  const auto after = status(study.path());
  CHECK(after["finished"] == after["planned"]);
  CHECK(after["running"] == 0);
  CHECK(after["complete"] == true);
  CHECK(program("study status --json " + study.directory.path()).exit_code == 2);
}

TEST_CASE("the status of a study tells how far the runs are that workers are at") {
  const BegunStudy study(StudyFile::whole(seeds(2) + "set: {train.updates: 400}\n"));
  const auto status = [&] { return program("study status " + study.path()).output; };
  CHECK(contains(status(), "; 0 running\n"));
  Leases leases(study.path());
  REQUIRE(leases.take("alone/seed-1"));
  REQUIRE(leases.take("alone/seed-2"));
  CHECK(contains(status(), "; 2 running, 0 % through\n"));
  const auto log = [&](const std::string& id, const std::string& attempt, const std::string& lines) {
    const std::string folder = study.folder().attempts(id) + "/" + attempt;
    make_folders(folder);
    write_file_atomically(folder + "/metrics.jsonl", lines);
  };
  const auto update = [](int number) { return fmt::format("{{\"event\":\"update\",\"update\":{}}}\n", number); };
  const std::string worker = leases.worker();
  log("alone/seed-1", worker + ".2", update(100) + update(200) + R"({"event":"update","upd)");  // is being written
  log("alone/seed-2", "dead-1-00000000.1", update(300));
  log("alone/seed-2", worker + ".1.failed", update(300));
  log("alone/seed-2", worker + ".2", "");
  CHECK(contains(status(), "; 2 running, 25 % through\n"));
  leases.give_back("alone/seed-2");
  CHECK(contains(status(), "; 1 running, 50 % through\n"));
  std::string many;
  for (int number = 1; number <= 300; ++number) many += update(number);
  log("alone/seed-1", worker + ".2", many);
  CHECK(contains(status(), "; 1 running, 75 % through\n"));
  const Study planned = study.folder().study();
  StudyResults results(study.folder(), planned);
  CHECK(underway_before(planned, study.folder(), results) == 0.75);
  log("alone/seed-1", worker + ".2", "no log\n");
  CHECK(contains(status(), "; 1 running, 0 % through\n"));
}

TEST_CASE("what is gone on with from checkpoints is underway before a worker is at it") {
  const BegunStudy study(StudyFile::whole(seeds(2) + "set: {train.updates: 400}\n"), "--keep-checkpoints");
  const std::string attempt = study.folder().attempts("alone/seed-2") + "/gone-1-00000000.1.stopped";
  make_folders(attempt);
  write_file_atomically(attempt + "/metrics.jsonl", "{\"event\":\"update\",\"update\":100}\n");
  const Study planned = study.folder().study();
  StudyResults results(study.folder(), planned);
  CHECK(underway_before(planned, study.folder(), results) == 0.25);
  CHECK(count(planned, study.folder(), results).underway == 0);
}

TEST_CASE("a worker notices that the study's folder was removed, and does not make it anew") {
  const BegunStudy study(StudyFile::whole(seeds(1) + long_run));
  const std::string moved = study.path() + "-moved";
  const pid_t worker = start({"study", "work", study.path(), "--lease", "1s"});
  for (int i = 0; i < 6000 && !worker_at(study.path(), "alone/seed-1"); ++i) wait_milliseconds(5);
  fs::rename(study.path(), moved);
  int status = 0;
  ::waitpid(worker, &status, 0);
  CHECK(WEXITSTATUS(status) == 1);
  CHECK_FALSE(fs::exists(study.path() + "/study.json"));
  CHECK(program("study work " + study.path()).exit_code == 2);
}

TEST_CASE("folders that this surd does not know, and runs that are none, are told with a way out") {
  const BegunStudy study(StudyFile::whole(seeds(1)));
  const std::string run = study.path() + "/runs/alone/seed-1", json = study.path() + "/study.json";
  fs::create_directories(run);
  const auto all_say = [&](const std::string& problem) {
    for (const char* command : {"study status ", "study work ", "study report "}) {
      const Outcome outcome = program(command + study.path());
      CHECK(outcome.exit_code == 1);
      CHECK(contains(outcome.output, problem));
    }
  };
  all_say("seed-1: has no outcome.json, so it is no run that ended; remove the folder");
  REQUIRE(::mkfifo((run + "/outcome.json").c_str(), 0666) == 0);  // which nobody writes to
  all_say("seed-1: has no outcome.json, so it is no run that ended; remove the folder");
  fs::remove_all(run);
  write_file_atomically(run, "");
  all_say("seed-1: is a file where the folder of a run belongs; remove it, and the run is made");
  fs::remove(run);
  for (const char* stray : {"/runs/.DS_Store", "/runs/alone/.nfs0001"}) write_file_atomically(study.path() + stray, "");
  CHECK(program("study status " + study.path()).exit_code == 0);
  auto newer = nlohmann::ordered_json::parse(read_file(json));
  newer["layout"] = 99;
  write_file_atomically(json, newer.dump());
  const Outcome outcome = program("study work " + study.path());
  CHECK(outcome.exit_code == 1);
  CHECK(contains(outcome.output, "was begun by a newer surd"));
}

TEST_CASE("a folder of surd 0.1.0 is read and finished") {
  const StudyRun study(StudyFile::whole(seeds(3)));
  REQUIRE(study.run("old", "--jobs 1").exit_code == 0);
  const auto whole = study.result("old");
  const std::string old = study.directory.path("old"), run = old + "/runs/alone/seed-2";
  auto json = nlohmann::ordered_json::parse(read_file(old + "/study.json"));
  json.erase("layout");
  json.erase("retries");
  write_file_atomically(old + "/study.json", json.dump());
  fs::remove(run + "/outcome.json");  // it was being made when the worker was killed
  write_file_atomically(run + ".claim", "");
  const Outcome status = program("study status " + old);
  CHECK(contains(status.output, "runs        2 of 3 made"));
  CHECK(program("study report " + old).exit_code == 0);
  const Outcome resumed = study.run("old", "--resume");
  CAPTURE(resumed.output);
  CHECK(resumed.exit_code == 0);
  CHECK(contains(resumed.output, "runs        1 to make, 2 made"));
  CHECK(study.result("old") == whole);
  CHECK_FALSE(fs::exists(run + ".claim"));
}

TEST_CASE("the doctor tests a file system and leaves nothing there") {
  const TemporaryDirectory directory;
  const Outcome doctor = program("doctor " + directory.path());
  CAPTURE(doctor.output);
  CHECK(doctor.exit_code == 0);
  for (const char* check : {"create         passed: 4 processes", "rename         passed: 4 processes",
                            "link           passed: 4 processes", "visibility     passed: ", "room           passed: "})
    CHECK(contains(doctor.output, check));
  const auto on = [&](const std::string& settings) {
    return shell("ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" SURD_FILE_SYSTEM " " + settings +
                 " " SURD_EXECUTABLE " doctor " + directory.path());
  };
  const Outcome without_links = on("NOLINK=1");
  CHECK(without_links.exit_code == 0);
  CHECK(contains(without_links.output, "link           passed: files cannot have a second name here"));
  const Outcome without_exclusion = on("NOEXCL=1");
  CHECK(without_exclusion.exit_code == 1);
  CHECK(contains(without_exclusion.output, "create         FAILED: 4 processes"));
  CHECK(names_in(directory.path()).empty());
  const Outcome nowhere = program("doctor " + directory.path("none"));
  CHECK(nowhere.exit_code == 2);
  CHECK(contains(nowhere.output, "none: is no folder"));
}

}  // namespace
