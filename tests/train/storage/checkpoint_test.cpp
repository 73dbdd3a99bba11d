#include "train/storage/checkpoint.hpp"

#include "tests/data/temporary_directory.hpp"
#include "tests/train/toy.hpp"
#include "train/optimizers/adam.hpp"
#include "train/optimizers/sgd.hpp"
#include "train/storage/files.hpp"
#include "train/storage/safetensors.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <set>

namespace surd {
namespace {

using test::contains;
using test::message_of;
using test::random_tensor;
using test::same_bits;
using test::TemporaryDirectory;
using test::values_of;

/// Everything a checkpoint holds, filled with numbers that depend on `seed`.
struct SavedRun {
  explicit SavedRun(std::uint64_t seed,
                    const std::vector<std::pair<std::string, Shape>>& shapes = {{"a.weight", {3, 2}}, {"b", {5}}})
      : schedule(100, {0, 0.5, 1, 0.01}) {
    for (const auto& [name, shape] : shapes) parameters.add(name, random_tensor(shape, seed));
    optimizer = std::make_unique<Adam>(parameters, AdamOptions());
    for (Optimizer::Slot& slot : optimizer->slots())
      for (Tensor& tensor : slot.tensors) tensor = random_tensor(tensor.shape(), ++seed);
    optimizer->set_updates(seed);
    schedule.observe(1.0 / static_cast<double>(seed));
    schedule.observe(2);
  }
  void save(const Checkpoints& checkpoints, std::uint64_t update, bool best = false, bool interrupted = false) {
    TrainState state;
    state.update = update;
    checkpoints.save(parameters, *optimizer, schedule, state, "", best, interrupted);
  }
  std::optional<Checkpoints::Saved> resume(const Checkpoints& checkpoints) {
    return checkpoints.resume(parameters, *optimizer, schedule,
                              [&](const std::string& text) { warnings.push_back(text); });
  }
  bool operator==(const SavedRun& other) const {
    return same_bits(values_of(parameters), values_of(other.parameters)) && same_bits(*optimizer, *other.optimizer) &&
           schedule.state() == other.schedule.state();
  }

  ParameterSet parameters;
  std::unique_ptr<Optimizer> optimizer;
  PlateauSchedule schedule;
  std::vector<std::string> warnings;
};

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

void damage(const std::string& path) {
  std::string bytes = TemporaryDirectory::read(path);
  REQUIRE(bytes.size() > 100);
  bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 4);
  write_file_atomically(path, bytes);
}

TEST_CASE("parameters, optimizer, schedule and state come back bit for bit") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  SavedRun saved(1), restored(50);
  TrainState state;
  state.update = 12;
  state.epoch = 3;
  state.next_batch = 4;
  state.target_tokens = (std::uint64_t{1} << 60) + 1;  // more digits than a double has
  state.best = 0.1 + 0.2;
  state.best_update = 8;
  state.evaluations_without_improvement = 2;
  state.evaluations_good_enough = 5;
  state.finished = true;
  checkpoints.save(saved.parameters, *saved.optimizer, saved.schedule, state, "17,\"4\"\n", false);
  CHECK_FALSE(saved == restored);
  const auto result = restored.resume(checkpoints);
  REQUIRE(result);
  CHECK(saved == restored);
  CHECK(restored.warnings.empty());
  CHECK(result->log_position == "17,\"4\"\n");
  CHECK(result->state.update == state.update);
  CHECK(result->state.epoch == state.epoch);
  CHECK(result->state.next_batch == state.next_batch);
  CHECK(result->state.target_tokens == state.target_tokens);
  CHECK(result->state.best == state.best);
  CHECK(result->state.best_update == state.best_update);
  CHECK(result->state.evaluations_without_improvement == state.evaluations_without_improvement);
  CHECK(result->state.evaluations_good_enough == state.evaluations_good_enough);
  CHECK(result->state.finished == state.finished);
}

TEST_CASE("without a best value there is none after resuming") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  SavedRun(1).save(checkpoints, 1);
  const auto result = SavedRun(2).resume(checkpoints);
  REQUIRE(result);
  CHECK_FALSE(result->state.best);
  CHECK_FALSE(result->state.finished);
}

TEST_CASE("where there is no checkpoint nothing is restored") {
  const TemporaryDirectory directory;
  SavedRun run(1);
  const SavedRun same(1);
  CHECK_FALSE(run.resume(Checkpoints(directory.path("missing"), 2)));
  directory.write("best.safetensors.tmp", "x");
  directory.write("notes.txt", "x");
  CHECK_FALSE(run.resume(Checkpoints(directory.path(), 2)));
  CHECK(run == same);
  CHECK(contains(message_of([&] { Checkpoints(directory.path(), 2).last_path(); }), "no checkpoint yet"));
  CHECK(contains(message_of([&] { Checkpoints(directory.path(), 2).best_path(); }), "no checkpoint yet"));
}

TEST_CASE("the latest are kept, as many as asked for, and the best beside them") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  SavedRun(1).save(checkpoints, 5);
  CHECK(files_in(directory.path()) == std::set<std::string>{"update-00000005.safetensors"});
  CHECK(checkpoints.best_path() == checkpoints.last_path());
  SavedRun best(2);
  best.save(checkpoints, 10, true);
  SavedRun(3).save(checkpoints, 100);
  SavedRun last(4);
  last.save(checkpoints, 1005);
  CHECK(files_in(directory.path()) ==
        std::set<std::string>{"best.safetensors", "update-00000100.safetensors", "update-00001005.safetensors"});

  SavedRun loaded(9);
  load_parameters(checkpoints.best_path(), loaded.parameters);
  CHECK(same_bits(values_of(loaded.parameters), values_of(best.parameters)));
  load_parameters(checkpoints.last_path(), loaded.parameters);
  CHECK(same_bits(values_of(loaded.parameters), values_of(last.parameters)));
  CHECK(loaded.resume(checkpoints)->state.update == 1005);
}

TEST_CASE("one that was written because the run was interrupted is gone on from, and goes with the next one") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  using Files = std::set<std::string>;
  SavedRun run(1), last(2);
  run.save(checkpoints, 5);
  run.save(checkpoints, 10);
  run.save(checkpoints, 12, false, true);
  last.save(checkpoints, 13, false, true);
  CHECK(files_in(directory.path()) == Files{"update-00000010.safetensors", "update-00000013.interrupted.safetensors"});
  SavedRun loaded(9);
  CHECK(loaded.resume(checkpoints)->state.update == 13);
  CHECK(loaded == last);
  CHECK(update_of(read_safetensors(checkpoints.last_path()), "") == 13);
  run.save(checkpoints, 15);
  CHECK(files_in(directory.path()) == Files{"update-00000010.safetensors", "update-00000015.safetensors"});

  run.save(checkpoints, 18, false, true);
  damage(checkpoints.last_path());
  CHECK(loaded.resume(checkpoints)->state.update == 15);
  run.save(checkpoints, 16, false, true);
  CHECK(files_in(directory.path()) == Files{"update-00000015.safetensors", "update-00000016.interrupted.safetensors"});
}

TEST_CASE("a damaged latest is passed over, loudly") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 3);
  SavedRun first(1), second(2), third(3), restored(9);
  first.save(checkpoints, 1);
  second.save(checkpoints, 2);
  third.save(checkpoints, 3);
  damage(directory.path("update-00000003.safetensors"));
  CHECK(restored.resume(checkpoints)->state.update == 2);
  CHECK(restored == second);
  REQUIRE(restored.warnings.size() == 1);
  CHECK(contains(restored.warnings[0], "update-00000003.safetensors"));

  directory.write("update-00000002.safetensors", "");
  CHECK(restored.resume(checkpoints)->state.update == 1);
  CHECK(restored == first);
  CHECK(restored.warnings.size() == 3);

  // What was damaged stands for a future that the run has gone back before: it must not push whole ones out.
  second.save(checkpoints, 2);
  CHECK(files_in(directory.path()) ==
        std::set<std::string>{"update-00000001.safetensors", "update-00000002.safetensors"});
}

TEST_CASE("where all are damaged resuming is an error and restores nothing") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  SavedRun run(1);
  run.save(checkpoints, 1);
  run.save(checkpoints, 2);
  for (const std::string& name : files_in(directory.path())) damage(directory.path(name));
  const SavedRun same(1);
  CHECK(contains(message_of([&] { run.resume(checkpoints); }), "every checkpoint is damaged"));
  CHECK(run.warnings.size() == 2);
  CHECK(run == same);
}

TEST_CASE("the checkpoint of another model is refused, by name and by shape, and changes nothing") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  SavedRun(1).save(checkpoints, 1);
  struct Other {
    std::vector<std::pair<std::string, Shape>> shapes;
    std::string message;
  };
  const std::vector<Other> others = {{{{"a.weight", {3, 2}}, {"c", {5}}}, "'c'"},
                                     {{{"a.weight", {3, 2}}, {"b", {6}}}, "'b' has shape"},
                                     {{{"a.weight", {2, 3}}, {"b", {5}}}, "'a.weight' has shape"},
                                     {{{"a.weight", {3, 2}}, {"b", {5}}, {"c", {1}}}, "'c'"},
                                     {{{"a.weight", {3, 2}}}, "'b'"}};  // the checkpoint has more than the model
  for (const Other& other : others) {
    SavedRun run(2, other.shapes);
    const SavedRun same(2, other.shapes);
    CAPTURE(other.message);
    const std::string resumed = message_of([&] { run.resume(checkpoints); });
    CHECK(contains(resumed, other.message));
    CHECK(contains(resumed, "another model"));
    CHECK(contains(message_of([&] { load_parameters(checkpoints.last_path(), run.parameters); }), other.message));
    CHECK(run == same);
  }
}

TEST_CASE("the checkpoint of another optimizer is refused") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  const auto ignore = [](const std::string&) {};
  SavedRun adam(1);
  adam.save(checkpoints, 1);
  ParameterSet parameters;
  for (const Parameter& parameter : adam.parameters) parameters.add(parameter.name, zeros(parameter.value.shape()));
  SgdOptions with_momentum;
  with_momentum.momentum = 0.5;
  Sgd momentum(parameters, with_momentum), plain(parameters, {});
  CHECK_THROWS_AS(checkpoints.resume(parameters, momentum, adam.schedule, ignore), Error);
  CHECK_THROWS_AS(checkpoints.resume(parameters, plain, adam.schedule, ignore), Error);
}

TEST_CASE("any one flipped bit of a checkpoint, and any cut, is noticed") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  SavedRun(1, {{"a", {2}}}).save(checkpoints, 1);
  const std::string path = checkpoints.last_path(), whole = TemporaryDirectory::read(path);
  SavedRun reader(2, {{"a", {2}}});
  const auto refused = [&](const std::string& bytes) {
    directory.write("update-00000001.safetensors", bytes);
    return !message_of([&] { reader.resume(checkpoints); }).empty();
  };
  CHECK_FALSE(refused(whole));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CAPTURE(i);
    std::string altered = whole;
    altered[i] = static_cast<char>(altered[i] ^ (1 << (i % 8)));
    CHECK(refused(altered));
    CHECK(refused(whole.substr(0, i)));
  }
}

/// No file can be made.
struct NoNewFiles : SystemCalls {
  int open(const char* path, int flags) override {
    if ((flags & O_CREAT) == 0) return SystemCalls::open(path, flags);
    errno = EACCES;
    return -1;
  }
};

TEST_CASE("a checkpoint that cannot be written is an error and leaves the older ones") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  SavedRun run(1);
  run.save(checkpoints, 1);
  {
    NoNewFiles none;
    const ReplacedSystemCalls replaced(none);
    CHECK_THROWS_AS(run.save(checkpoints, 2), Error);
  }
  CHECK(run.resume(checkpoints)->state.update == 1);
  CHECK_THROWS_AS(run.save(Checkpoints(directory.path("missing"), 2), 1), Error);
}

/// The disk is full as soon as a checkpoint has got its final name.
struct FullAfterRename : SystemCalls {
  int rename(const char* from, const char* to) override {
    full = true;
    return SystemCalls::rename(from, to);
  }
  ssize_t write(int descriptor, const void* bytes, std::size_t count) override {
    if (!full) return SystemCalls::write(descriptor, bytes, count);
    errno = ENOSPC;
    return -1;
  }
  bool full = false;
};

TEST_CASE("a disk that is full between the latest and the best loses no update, and resuming writes the best") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  SavedRun run(3), restored(9);
  TrainState state;
  state.update = state.best_update = 7;
  {
    FullAfterRename disk;
    const ReplacedSystemCalls replaced(disk);
    CHECK_THROWS_AS(checkpoints.save(run.parameters, *run.optimizer, run.schedule, state, "", true), Error);
  }
  CHECK(files_in(directory.path()) == std::set<std::string>{"update-00000007.safetensors"});
  CHECK(restored.resume(checkpoints)->state.update == 7);
  CHECK(restored == run);
  CHECK(read_file(directory.path("best.safetensors")) == read_file(checkpoints.last_path()));
}

TEST_CASE("where only the best is whole, it is gone on from") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  SavedRun best(1), restored(9);
  best.save(checkpoints, 1, true);
  SavedRun(2).save(checkpoints, 2);
  for (const char* name : {"update-00000001.safetensors", "update-00000002.safetensors"}) damage(directory.path(name));
  CHECK(restored.resume(checkpoints)->state.update == 1);
  CHECK(restored == best);
  CHECK(restored.warnings.size() == 2);
}

TEST_CASE("metadata that were changed by hand name their key and the way out") {
  const TemporaryDirectory directory;
  const Checkpoints checkpoints(directory.path(), 2);
  SavedRun run(1);
  run.save(checkpoints, 1);
  const TensorFile whole = read_safetensors(checkpoints.last_path());
  SavedRun other(2);  // of which nothing may change
  const auto error_with = [&](const std::string& key, const std::string& value) {
    TensorFileView view;
    view.metadata = whole.metadata;
    view.metadata[key] = value;
    if (value.empty()) view.metadata.erase(key);
    for (const auto& [name, tensor] : whole.tensors) view.tensors.emplace_back(name, &tensor);
    write_file_atomically(checkpoints.last_path(), encode_safetensors(view));
    return message_of([&] { other.resume(checkpoints); });
  };
  const std::string way_out = "remove it, and --resume uses the one before it";
  for (const auto& [key, value, message] : std::vector<std::array<std::string, 3>>{
           {"state", "{}", "state: has no 'update'"},
           {"state", "7", "state: is not a JSON object"},
           {"state", "{\"update\": \"x\"}", "state: 'update' is not a count"},
           {"state", "", "no 'state'"},
           {"schedule", "{\"factor\": \"x\"}", "schedule: 'factor' is not a number"},
           {"schedule", "{}", "'schedule' cannot be read"},
           {"optimizer_updates", "x", "'optimizer_updates' or"},
           {"optimizer_updates", "-5", "'optimizer_updates' or"},
           {"optimizer_updates", "99999999999999999999", "'optimizer_updates' or"},
           {"optimizer_updates", "30x", "'optimizer_updates' or"}}) {
    const std::string error = error_with(key, value);
    CAPTURE(error);
    CHECK(contains(error, message));
    CHECK(contains(error, way_out));
    CHECK(contains(error, "update-00000001.safetensors"));
    CHECK(other == SavedRun(2));
  }
}

TEST_CASE("a run needs room for as many checkpoints as it keeps, and for no more than it saves") {
  const TemporaryDirectory directory;
  const SavedRun run(1);
  const auto refusal = [&](std::size_t keep, std::size_t most_saves) {
    return message_of(
        [&] { Checkpoints(directory.path(), keep).expect_space(run.parameters, *run.optimizer, most_saves); });
  };
  constexpr std::size_t many = std::numeric_limits<std::size_t>::max();
  CHECK(refusal(2, many).empty());
  CHECK(refusal(many, 20).empty());
  CHECK(contains(refusal(many, many), "make room, or use another --out or a smaller train.keep_checkpoints"));
}

}  // namespace
}  // namespace surd
