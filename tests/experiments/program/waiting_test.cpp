#include "experiments/program/console.hpp"
#include "experiments/program/text_format.hpp"
#include "tests/data/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>

namespace {

using namespace surd;

std::ptrdiff_t lines_in(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

/// What `work` prints on standard error; it is told what is printed so far.
std::string errors_of(const std::function<void(const std::function<std::string()>&)>& work) {
  const test::TemporaryDirectory directory;
  const std::string name = directory.path("errors");
  std::fflush(stderr);
  const int before = ::dup(STDERR_FILENO), file = ::open(name.c_str(), O_CREAT | O_WRONLY, 0600);
  ::dup2(file, STDERR_FILENO);
  work([&] { return test::TemporaryDirectory::read(name); });
  std::fflush(stderr);
  ::dup2(before, STDERR_FILENO);
  ::close(file);
  ::close(before);
  return test::TemporaryDirectory::read(name);
}

TEST_CASE("what seldom happens is counted by the minute or the hour") {
  CHECK(rate_text(0) == "0.0/s");
  CHECK(rate_text(12.34) == "12.3/s");
  CHECK(rate_text(0.1) == "0.1/s");
  CHECK(rate_text(1 / 14.0) == "4.3/min");
  CHECK(rate_text(1 / 600.0) == "0.1/min");
  CHECK(rate_text(1 / 900.0) == "4.0/h");
}

TEST_CASE("the time left is that of the rate of this process, which counts what is done of unfinished items") {
  CHECK(progress_text({0, 10}, 60, "two running") == "0/10  0.0/s  two running  ? left");
  CHECK(progress_text({0, 10, 0, 0.5}, 60, "") == "0/10  0.5/min    19:00 left");
  CHECK(progress_text({1, 10, 0, 1}, 60, "") == "1/10  2.0/min    4:00 left");
  CHECK(progress_text({500, 1000, 500, 1}, 60, "") == "500/1000  1.0/min    8:19:00 left");
  CHECK(progress_text({501, 1000, 500.5, 0}, 60, "") == "501/1000  0.5/min    16:38:00 left");
  CHECK(progress_text({499, 1000, 500, 0}, 60, "") == "499/1000  0.0/s    ? left");  // some were made undone
  CHECK(progress_text({10, 10}, 1, "") == "10/10  10.0/s    0:00 left");
  CHECK(progress_text({3, 10}, 0, "") == "3/10  0.0/s    ? left");
}

TEST_CASE("who waits for longer than the patience is told what for, again and again, and nobody else") {
  const Waiting::Seconds ages(1e5), moment(1e-3);
  CHECK(errors_of([&](const auto&) {
          CHECK(while_waiting(
                    "the end", [] { return 7; }, ages) == 7);
        }).empty());
  CHECK(errors_of([&](const auto&) {
          CHECK_THROWS_AS(while_waiting(
                              "the end", []() -> int { throw std::runtime_error("no end"); }, ages),
                          std::runtime_error);
        }).empty());
  const std::string told = errors_of([&](const auto& so_far) {
    while_waiting(
        "the end",
        [&] {
          while (lines_in(so_far()) < 3) continue;
        },
        moment);
  });
  CHECK(told.rfind("0:00  the end\n", 0) == 0);
}

}  // namespace
