#include "experiments/study/execution/workers/leases.hpp"

#include "tests/data/temporary_directory.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

namespace surd {
namespace {

using test::TemporaryDirectory;

/// Workers of one study, whose clock is the test's.
struct SharedFolder {
  SharedFolder() { directory.write("study.json", "{}"); }
  std::unique_ptr<Leases> worker() {
    return std::make_unique<Leases>(directory.path(), Leases::Seconds(120), [this] { return now; });
  }
  std::string lease(const std::string& id) const { return directory.path("leases/" + id); }

  TemporaryDirectory directory;
  Leases::Seconds now{1000};
};

TEST_CASE("a run has one worker until that gives it back, and none once it has ended") {
  SharedFolder folder;
  const auto one = folder.worker(), other = folder.worker();
  CHECK(one->worker() != other->worker());
  CHECK(one->take("arm/seed-1"));
  CHECK(worker_at(folder.directory.path(), "arm/seed-1"));
  CHECK_FALSE(one->take("arm/seed-1"));
  CHECK_FALSE(other->take("arm/seed-1"));
  CHECK_FALSE(other->take_over("arm/seed-1"));
  CHECK(other->take("arm/seed-2"));
  other->give_back("arm/seed-1");  // which it has not
  CHECK_FALSE(other->take("arm/seed-1"));
  one->give_back("arm/seed-1");
  CHECK_FALSE(worker_at(folder.directory.path(), "arm/seed-1"));
  CHECK(other->take("arm/seed-1"));
  other->settle("arm/seed-1");
  CHECK_FALSE(one->take("arm/seed-1"));
}

TEST_CASE("a worker that ends gives back what it has, but not what has ended") {
  SharedFolder folder;
  const auto other = folder.worker();
  {
    const auto one = folder.worker();
    REQUIRE(one->take("arm/seed-1"));
    REQUIRE(one->take("arm/seed-2"));
    one->settle("arm/seed-2");
  }
  CHECK(other->take("arm/seed-1"));
  CHECK_FALSE(other->take("arm/seed-2"));
  CHECK(names_in(folder.directory.path("workers")) ==
        std::vector<std::string>{other->worker(), other->worker() + ".lease"});
}

TEST_CASE("a worker that was not heard of for the time of a lease loses its runs, and is told") {
  SharedFolder folder;
  const auto silent = folder.worker(), alive = folder.worker(), observer = folder.worker();
  REQUIRE(silent->take("arm/seed-1"));
  REQUIRE(alive->take("arm/seed-2"));
  CHECK_FALSE(observer->take_over("arm/seed-1"));
  CHECK_FALSE(observer->take_over("arm/seed-2"));
  for (int seconds = 0; seconds < 119; ++seconds) {
    folder.now += Leases::Seconds(1);
    CHECK(alive->renew());
    CHECK_FALSE(observer->take_over("arm/seed-1"));
    CHECK_FALSE(observer->take_over("arm/seed-2"));
  }
  folder.now += Leases::Seconds(1);
  CHECK(observer->take_over("arm/seed-1"));
  CHECK_FALSE(observer->take_over("arm/seed-2"));
  CHECK(alive->renew());
  CHECK_FALSE(silent->renew());
  silent->give_back("arm/seed-1");  // it is another's by now
  CHECK(observer->renew());
  CHECK_FALSE(alive->take("arm/seed-1"));
}

TEST_CASE("the time of a lease begins when an observer sees it for the first time") {
  SharedFolder folder;
  const auto silent = folder.worker(), observer = folder.worker();
  REQUIRE(silent->take("arm/seed-1"));
  folder.now += Leases::Seconds(1000);
  CHECK_FALSE(observer->take_over("arm/seed-1"));
  CHECK(silent->renew());
  folder.now += Leases::Seconds(119);
  CHECK_FALSE(observer->take_over("arm/seed-1"));
  folder.now += Leases::Seconds(119);
  CHECK_FALSE(observer->take_over("arm/seed-1"));  // it had moved between the last two looks
  folder.now += Leases::Seconds(1);
  CHECK(observer->take_over("arm/seed-1"));
}

TEST_CASE("a run is free at once when its worker is killed on the same machine") {
  SharedFolder folder;
  const auto observer = folder.worker();
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Leases leases(folder.directory.path());
    const bool told = ::write(ready[1], leases.take("arm/seed-1") ? "1" : "0", 1) == 1;
    if (told) ::pause();
    ::_exit(1);
  }
  char held = '0';
  REQUIRE(::read(ready[0], &held, 1) == 1);
  for (const int end : ready) ::close(end);
  CHECK(held == '1');
  CHECK_FALSE(observer->take_over("arm/seed-1"));
  CHECK(worker_at(folder.directory.path(), "arm/seed-1"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(worker_at(folder.directory.path(), "arm/seed-1"));
  CHECK(observer->take_over("arm/seed-1"));
  CHECK_FALSE(observer->take_over("arm/seed-2"));  // nobody ever had it
}

TEST_CASE("a lease that its worker could not finish, or that was damaged, is free after its time") {
  SharedFolder folder;
  const auto observer = folder.worker();
  std::filesystem::create_directories(folder.directory.path("leases/arm"));
  for (const std::string text :
       {"", "{\"worker\":", "[1]", "{\"worker\":1,\"machine\":[],\"started\":{},\"pid\":\"a\"}",
        "{\"worker\":\"gone\",\"machine\":\"another\",\"started\":\"5\",\"pid\":1}"}) {
    folder.directory.write("leases/arm/seed-1", text);
    CHECK_FALSE(observer->take("arm/seed-1"));
    CHECK_FALSE(observer->take_over("arm/seed-1"));
    folder.now += Leases::Seconds(120);
    CHECK(observer->take_over("arm/seed-1"));
    observer->give_back("arm/seed-1");
  }
  folder.directory.write("leases/arm/seed-2", "{");
  CHECK_FALSE(observer->take_over("arm/seed-2"));
  folder.now += Leases::Seconds(120);
  folder.directory.write("leases/arm/seed-2", "");  // another worker has it now, and is about to write its name
  CHECK_FALSE(observer->take_over("arm/seed-2"));
}

TEST_CASE("a worker knows whether those whose leases were in its way were heard of") {
  SharedFolder folder;
  const auto observer = folder.worker();
  std::filesystem::create_directories(folder.directory.path("leases"));
  folder.directory.write("leases/run", R"({"worker":"far-1-00000001","machine":"another","started":"5","pid":1})");
  folder.directory.write("workers/far-1-00000001", "1");
  CHECK(observer->heard_of_all(folder.now));
  CHECK_FALSE(observer->take_over("run"));
  CHECK_FALSE(observer->heard_of_all(folder.now));
  CHECK(observer->heard_of_all(folder.now + Leases::Seconds(1)));  // it was in nobody's way since
  folder.now += Leases::Seconds(10);
  folder.directory.write("workers/far-1-00000001", "2");
  CHECK_FALSE(observer->take_over("run"));
  CHECK(observer->heard_of_all(folder.now));
}

TEST_CASE("a worker of this machine that lives need not be heard of") {
  SharedFolder folder;
  const auto one = folder.worker(), observer = folder.worker();
  REQUIRE(one->take("run"));
  CHECK_FALSE(observer->take_over("run"));
  CHECK(observer->heard_of_all(folder.now));
}

TEST_CASE("a worker knows whether other machines may be at the study") {
  CHECK(is_of_host("alpha-12-0123abcd", "alpha"));
  CHECK(is_of_host("alpha-12-0123abcd.3.failed", "alpha"));
  CHECK(is_of_host("node-1.here-12-0123abcd.lease", "node-1.here"));
  CHECK_FALSE(is_of_host("alpha-1-12-0123abcd", "alpha"));
  CHECK_FALSE(is_of_host("alpha-12-0123abcd", "alpha-12"));
  CHECK_FALSE(is_of_host("surd", "surd"));
  SharedFolder folder;
  const auto here = folder.worker(), observer = folder.worker();
  CHECK_FALSE(observer->others_are_there());
  folder.directory.write("workers/far-1-00000001", "1");
  folder.directory.write("workers/far-1-00000001.lease", "{}");
  CHECK(observer->others_are_there());
  folder.now += Leases::Seconds(119);
  CHECK(observer->others_are_there());
  folder.now += Leases::Seconds(1);
  CHECK_FALSE(observer->others_are_there());
}

TEST_CASE("a worker that cannot write for a while keeps its runs") {
  class Broken : public SystemCalls {
   public:
    int rename(const char*, const char*) override { return errno = EIO, -1; }
  };
  SharedFolder folder;
  const auto worker = folder.worker();
  REQUIRE(worker->take("run"));
  Broken broken;
  {
    const ReplacedSystemCalls replaced(broken);
    for (int times = 0; times < 3; ++times) {
      folder.now += Leases::Seconds(20);
      CHECK(worker->renew());
    }
  }
  folder.now += Leases::Seconds(20);
  CHECK(worker->renew());
  const ReplacedSystemCalls replaced(broken);
  folder.now += Leases::Seconds(61);
  CHECK_THROWS_AS(worker->renew(), Error);
}

TEST_CASE("of many workers that take over one run at once, one has it") {
  constexpr int workers = 8, times = 20;
  for (int i = 0; i < times; ++i) {
    SharedFolder folder;
    std::filesystem::create_directories(folder.directory.path("leases"));
    folder.directory.write("leases/run", "{\"worker\":\"gone\"}");
    int start[2], result[2], end[2];
    for (int* ends : {start, result, end}) REQUIRE(::pipe(ends) == 0);
    std::vector<pid_t> children;
    for (int worker = 0; worker < workers; ++worker) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      Leases::Seconds now{0};
      Leases leases(folder.directory.path(), Leases::Seconds(120), [&] { return now; });
      leases.take_over("run");  // sees it
      now = Leases::Seconds(120);
      const auto wait_until_closed = [](const int(&ends)[2]) {
        char none = 0;
        ::close(ends[1]);
        static_cast<void>(!::read(ends[0], &none, 1));
      };
      wait_until_closed(start);
      static_cast<void>(!::write(result[1], leases.take_over("run") ? "1" : "0", 1));
      wait_until_closed(end);  // a worker that is gone has no run
      ::_exit(0);
    }
    for (const int descriptor : start) ::close(descriptor);
    int taken = 0;
    for (int worker = 0; worker < workers; ++worker) {
      char answer = 0;
      REQUIRE(::read(result[0], &answer, 1) == 1);
      taken += answer == '1';
    }
    for (const int descriptor : {result[0], result[1], end[0], end[1]}) ::close(descriptor);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    CHECK(taken == 1);
  }
}

}  // namespace
}  // namespace surd
