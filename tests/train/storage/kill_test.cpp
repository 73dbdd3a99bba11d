#include "autograd/base/random.hpp"
#include "tests/data/temporary_directory.hpp"
#include "tests/train/toy.hpp"
#include "train/optimizers/adam.hpp"
#include "train/storage/checkpoint.hpp"
#include "train/storage/files.hpp"
#include "train/storage/safetensors.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <new>

namespace surd {
namespace {

using test::same_bits;
using test::TemporaryDirectory;
using test::values_of;

/// A model and optimizer whose every number follows from the update.
struct Snapshot {
  explicit Snapshot(std::uint64_t update = 0) : schedule(100, {0, 0.5, 1, 0.01}) {
    parameters.add("a", zeros(Shape{32, 32}));
    parameters.add("b", zeros(Shape{7}));
    optimizer = std::make_unique<Adam>(parameters, AdamOptions());
    set(update);
  }
  void set(std::uint64_t update) {
    auto value = static_cast<Real>(update);
    const auto fill = [&](Tensor& tensor) {
      for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] = value + static_cast<Real>(i) / 4;
      value += 1;
    };
    for (Parameter& parameter : parameters) fill(parameter.value);
    for (Optimizer::Slot& slot : optimizer->slots())
      for (Tensor& tensor : slot.tensors) fill(tensor);
    optimizer->set_updates(update);
    state.update = update;
  }
  void save(const Checkpoints& checkpoints) const {
    checkpoints.save(parameters, *optimizer, schedule, state, std::to_string(state.update), state.update % 3 == 0);
  }

  ParameterSet parameters;
  std::unique_ptr<Optimizer> optimizer;
  PlateauSchedule schedule;
  TrainState state;
};

/// In the child: saves update after update until it is killed, and tells the parent which one it has done.
[[noreturn]] void save_forever(const Checkpoints& checkpoints, std::uint64_t update, std::atomic<std::uint64_t>& done) {
  try {
    Snapshot snapshot;
    while (true) {
      snapshot.set(++update);
      snapshot.save(checkpoints);
      done = update;
    }
  } catch (...) {
  }
  ::_exit(1);
}

TEST_CASE("killed 1,000 times at random instants of saving, a run is always in the old state or the new") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  void* shared =
      ::mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  auto& done = *new (shared) std::atomic<std::uint64_t>(1);
  Snapshot(1).save(checkpoints);
  random::Sequence draw(random::Stream(1, "test", "kill"));
  std::size_t newer = 0, left_over = 0;
  for (int round = 0; round < 1000; ++round) {
    CAPTURE(round);
    const std::uint64_t from = done;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) save_forever(checkpoints, from, done);
    ::usleep(static_cast<useconds_t>(draw.integer(6000)));
    REQUIRE(::kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));  // it had not failed before

    Snapshot loaded;
    const auto saved = checkpoints.resume(loaded.parameters, *loaded.optimizer, loaded.schedule,
                                          [](const std::string& warning) { FAIL_CHECK(warning); });
    REQUIRE(saved);
    const std::uint64_t update = saved->state.update, old = done;
    CHECK((update == old || update == old + 1));
    newer += update == old + 1;
    const Snapshot expected(update);
    CHECK(same_bits(values_of(loaded.parameters), values_of(expected.parameters)));
    CHECK(same_bits(*loaded.optimizer, *expected.optimizer));
    CHECK(saved->log_position == std::to_string(update));
    if (update >= 3) CHECK_NOTHROW(load_parameters(checkpoints.best_path(), loaded.parameters));
    for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
      left_over += entry.path().extension() == ".tmp";
    remove_temporary_files(directory.path());
    done = update;
  }
  MESSAGE(done.load() << " updates saved; killed " << left_over << " times with a file half written, " << newer
                      << " times after the rename");
  CHECK(left_over > 0);  // it was really killed while saving
  ::munmap(shared, sizeof(std::atomic<std::uint64_t>));
}

TEST_CASE("10,000 random bit flips and truncations of a checkpoint are all detected") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  Snapshot(7).save(checkpoints);
  const std::string whole = read_file(checkpoints.last_path());
  REQUIRE_NOTHROW(decode_safetensors(whole, "whole"));
  random::Sequence draw(random::Stream(2, "test", "damage"));
  for (int i = 0; i < 10'000; ++i) {
    std::string altered = whole;
    if (i % 4 == 0) altered.resize(draw.integer(whole.size()));
    if (i % 4 != 0 || (i % 8 == 0 && !altered.empty())) {
      // Half of the flips hit the header, a small part of the file.
      const std::size_t byte = draw.integer(i % 2 == 0 ? std::min<std::size_t>(altered.size(), 1500) : altered.size());
      altered[byte] = static_cast<char>(altered[byte] ^ (1 << draw.integer(8)));
    }
    CAPTURE(i);
    CHECK_THROWS_AS(decode_safetensors(altered, "altered"), Error);
  }
}

}  // namespace
}  // namespace surd
