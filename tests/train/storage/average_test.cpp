#include "train/storage/average.hpp"

#include "tests/data/temporary_directory.hpp"
#include "tests/train/toy.hpp"
#include "train/optimizers/adam.hpp"
#include "train/storage/checkpoint.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace surd {
namespace {

using test::contains;
using test::message_of;
using test::TemporaryDirectory;

/// A checkpoint of two parameters whose elements are `value`.
std::string checkpoint_of(const TemporaryDirectory& directory, std::uint64_t update, Real value,
                          const std::string& second = "b") {
  ParameterSet parameters;
  parameters.add("a", full({2, 3}, value));
  parameters.add(second, full({4}, 2 * value));
  const Adam adam(parameters, AdamOptions());
  TrainState state;
  state.update = update;
  const std::string folder = directory.path(fmt::format("{}-{}-{}", update, value, second));
  std::filesystem::create_directories(folder);
  const Checkpoints checkpoints(folder, 2);
  checkpoints.save(parameters, adam, PlateauSchedule(100, {0, 0.5, 1, 0.01}), state, "", false);
  return checkpoints.last_path();
}

TEST_CASE("an average holds the means of the parameters, and the updates") {
  const TemporaryDirectory directory;
  const std::string to = directory.path("average.safetensors");
  const auto updates = average_checkpoints({checkpoint_of(directory, 30, 1), checkpoint_of(directory, 20, 4)}, to);
  CHECK(updates == std::vector<std::uint64_t>{30, 20});
  const TensorFile file = read_safetensors(to);
  CHECK(file.metadata.at("averaged_updates") == "30,20");
  CHECK(file.tensors.size() == 2);  // none of the optimizer
  for (const Real x : file.tensors.at("a")) CHECK(x == 2.5);
  for (const Real x : file.tensors.at("b")) CHECK(x == 5);
  ParameterSet parameters;
  parameters.add("a", zeros({2, 3}));
  parameters.add("b", zeros({4}));
  load_parameters(to, parameters);
  CHECK(parameters.find("a").value(1, 2) == 2.5);
}

TEST_CASE("one checkpoint is its own average to the last bit") {
  const TemporaryDirectory directory;
  const std::string to = directory.path("average.safetensors");
  average_checkpoints({checkpoint_of(directory, 1, Real(0.1))}, to);
  const auto file = read_safetensors(to);
  for (const Real x : file.tensors.at("a")) CHECK(x == Real(0.1));
}

TEST_CASE("what cannot be averaged is refused, and nothing is written") {
  const TemporaryDirectory directory;
  const std::string to = directory.path("average.safetensors"), one = checkpoint_of(directory, 10, 1);
  const auto refused = [&](const std::vector<std::string>& paths) {
    std::string message = message_of([&] { average_checkpoints(paths, to); });
    CHECK_FALSE(path_exists(to));
    return message;
  };
  CHECK(contains(refused({}), "there are no checkpoints"));
  CHECK(contains(refused({one, one}), "is of update 10 like another one"));
  CHECK(contains(refused({one, checkpoint_of(directory, 20, 1, "c")}), "'c' [4] is not in the other checkpoints"));
  CHECK(contains(refused({one, directory.path("none")}), "none"));
  average_checkpoints({one}, to);
  CHECK(contains(message_of([&] { average_checkpoints({to}, to); }), "is not a checkpoint that a run has written"));
}

}  // namespace
}  // namespace surd
