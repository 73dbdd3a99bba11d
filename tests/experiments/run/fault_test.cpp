#include "tests/experiments/run/small_run.hpp"
#include "tests/train/storage/failing_calls.hpp"

#include "autograd/base/error.hpp"
#include "train/storage/safetensors.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace {

using namespace surd;
using namespace surd::test;
namespace fs = std::filesystem;

/// Every checkpoint under its final name is a whole one.
void check_whole(const std::string& folder) {
  if (!fs::exists(folder)) return;
  for (const auto& entry : fs::directory_iterator(folder)) {
    CAPTURE(entry.path().string());
    CHECK(entry.path().extension() == ".safetensors");  // no temporary file is left either
    CHECK_NOTHROW(read_safetensors(entry.path().string()));
  }
}

TEST_CASE("whichever call fails while a run is saved, it is an error and nothing is lost") {
  SmallRun run;
  run.settings = {"train.updates=4", "train.evaluate_every=1", "train.checkpoint_every=1", "train.log_every=1",
                  "probe.every=2"};
  FailingCalls none;
  {
    const ReplacedSystemCalls replaced(none);
    REQUIRE(run.train(run.arguments("whole")) == 0);
  }
  const std::string whole = run.result("whole");
  std::size_t points = 0, harmless = 0;
  for (const Call call : all_calls) {
    REQUIRE(none.count(call) > 0);
    for (const Failure failure : {Failure::input_output, Failure::no_space, Failure::short_write}) {
      if (failure == Failure::short_write && call != Call::write) continue;
      if (failure == Failure::no_space && (call == Call::close || call == Call::truncate)) continue;
      for (std::size_t k = 0; k < none.count(call); ++k) {
        CAPTURE(static_cast<int>(call));
        CAPTURE(static_cast<int>(failure));
        CAPTURE(k);
        ++points;
        FailingCalls failing(call, k, failure);
        {
          const ReplacedSystemCalls replaced(failing);
          if (call != Call::close) {
            CHECK_THROWS_AS(run.train(run.arguments("faulty")), Error);
          } else {
            // What was only read, or is synced already, has nothing to lose by its close: the run may go on.
            try {
              const int code = run.train(run.arguments("faulty"));
              CHECK(code == 0);
              ++harmless;
              CHECK(run.result("faulty") == whole);
            } catch (const Error&) {
            }
          }
        }
        CHECK(failing.failed());
        check_whole(run.directory.path("faulty/checkpoints"));
        {
          FailingCalls quick;
          const ReplacedSystemCalls replaced(quick);
          REQUIRE_NOTHROW(run.train(run.arguments("faulty", true)));
        }
        CHECK(run.result("faulty") == whole);
        const auto summary = nlohmann::json::parse(read_file(run.directory.path("faulty/summary.json")));
        CHECK(summary["finished"] == true);
        CHECK(summary["last"].is_object());
        CHECK(summary["best"].is_object());
        fs::remove_all(run.directory.path("faulty"));
      }
    }
  }
  MESSAGE(points << " points of failure");
  CHECK(points >= 200);
  CHECK(harmless <= 4);  // the two logs, the lock, and the log that is read back
}

}  // namespace
