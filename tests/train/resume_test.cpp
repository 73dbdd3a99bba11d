#include "tests/train/tiny_run.hpp"

namespace surd {
namespace {

using test::check_same;
using test::Killed;
using test::Run;
using test::tiny;

TEST_CASE("interrupted after any update and resumed, a run ends as one that never stopped") {
  for (const std::size_t replicas : {1, 2}) {
    Run whole(tiny(replicas));
    whole.go();
    for (std::uint64_t k = 1; k <= 11; ++k) {
      CAPTURE(replicas);
      CAPTURE(k);
      const test::TemporaryDirectory directory;
      Run first(tiny(replicas), directory.path()), second(tiny(replicas), directory.path());
      first.interrupt_at = k;
      first.go();
      CHECK(first.state.update == k);
      CHECK(first.state.finished == (k == 11));
      CHECK(first.saved_at.back() == k);
      second.resume(first.log);
      check_same(second, whole);
    }
  }
}

TEST_CASE("killed at any update and resumed from the latest checkpoint, a run ends as one that never stopped") {
  for (const std::size_t replicas : {1, 3}) {
    TrainOptions options = tiny(replicas);
    options.evaluate_at_start = replicas == 3;
    Run whole(options);
    whole.go();
    for (std::uint64_t k = 1; k <= 11; ++k) {
      CAPTURE(replicas);
      CAPTURE(k);
      const test::TemporaryDirectory directory;
      Run first(options, directory.path()), second(options, directory.path());
      first.kill_at = k;
      CHECK_THROWS_AS(first.go(), Killed);
      second.resume(first.log);
      check_same(second, whole);
    }
  }
}

TEST_CASE("resuming a finished run does nothing") {
  const test::TemporaryDirectory directory;
  Run first(tiny(), directory.path()), second(tiny(), directory.path());
  first.go();
  second.resume(first.log);
  check_same(first, second);
  CHECK(second.saved_at.empty());
}

}  // namespace
}  // namespace surd
