#pragma once

#include "experiments/commands/shared_arguments.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace surd {

struct TrainArguments : ConfigArguments {
  std::string out;
  bool resume = false;
  std::optional<std::size_t> replicas;
  std::function<void(std::uint64_t)> after_update;  ///< called after each update; a test stops or kills a run there

  void fields(Fields& f) {
    ConfigArguments::fields(f);
    f("out", out, "folder of the run [runs/NAME]", Unit{"folder"});
    f("resume", resume, "go on from the run's last checkpoint");
    f("replicas", replicas, "threads that share each batch", between(1, 256), Unit{"threads"});
  }
};
/// Trains a model into the folder of a run and returns the exit code. Throws ConfigError, and UsageError for a folder
/// that cannot be trained in.
int train_command(const TrainArguments& arguments);

}  // namespace surd
