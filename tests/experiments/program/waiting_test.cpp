#include "experiments/program/console.hpp"
#include "tests/data/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace surd;

/// What is printed on standard error meanwhile.
std::string errors_of(const std::function<void()>& work) {
  const test::TemporaryDirectory directory;
  std::fflush(stderr);
  const int before = ::dup(STDERR_FILENO), file = ::open(directory.path("errors").c_str(), O_CREAT | O_WRONLY, 0600);
  ::dup2(file, STDERR_FILENO);
  work();
  std::fflush(stderr);
  ::dup2(before, STDERR_FILENO);
  ::close(file);
  ::close(before);
  return test::TemporaryDirectory::read(directory.path("errors"));
}

TEST_CASE("who waits for more than a second is told what for, and nobody else") {
  CHECK(errors_of([] { CHECK(while_waiting("the end", [] { return 7; }) == 7); }).empty());
  CHECK(errors_of([] {
          while_waiting("the end", [] { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); });
        }) == "0:01  the end\n");
  CHECK(errors_of([] {
          CHECK_THROWS_AS(while_waiting("the end", []() -> int { throw std::runtime_error("no end"); }),
                          std::runtime_error);
        }).empty());
}

}  // namespace
