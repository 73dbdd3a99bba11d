#pragma once

#include "train/optimizers/optimizer.hpp"
#include "train/schedule.hpp"
#include "train/storage/safetensors.hpp"
#include "train/train_state.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace surd {

/// The checkpoints of a run, one safetensors file each: parameters under their names, optimizer slots under
/// "optimizer.<slot>.<name>", and in the metadata the state of training and schedule, and what the caller adds.
///
///     update-00000400.safetensors   the latest ones, as many as are kept
///     update-00000417.interrupted.safetensors    written where the run was interrupted; the next one takes its place
///     best.safetensors              the best by the run's metric
///     average.safetensors           what `surd average` made of some of them
class Checkpoints {
 public:
  using Metadata = std::map<std::string, std::string>;
  /// Asked about a whole checkpoint before anything of it is used; throws where it is not to be.
  using Check = std::function<void(const std::string& path, const Metadata& metadata)>;

  /// `metadata`: what else save() writes into each.
  Checkpoints(std::string folder, std::size_t keep, Metadata metadata = {})
      : folder_(std::move(folder)), keep_(keep), metadata_(std::move(metadata)) {}

  /// What a checkpoint holds beside the parameters.
  struct Saved {
    TrainState state;
    std::string log_position;  ///< whatever the caller gave to save()
    std::string path;          ///< the file
  };

  /// Writes the latest one, then removes the oldest beyond those to keep, then writes the best. Throws Error; then what
  /// was written before is whole, and resume() goes on from the latest. Where it is only written because the run was
  /// `interrupted`, it goes with the next one, so that a run that goes on keeps those of one that never was.
  void save(const ParameterSet& parameters, const Optimizer& optimizer, const Schedule& schedule,
            const TrainState& state, const std::string& log_position, bool best, bool interrupted = false) const;

  /// Throws NoSpace unless the file system has room for all checkpoints of a run that saves no more often than
  /// `most_saves`: those kept, the best one and one that is being written. What the folder holds already counts as
  /// room, for most of it will be replaced.
  void expect_space(const ParameterSet& parameters, const Optimizer& optimizer, std::size_t most_saves) const;

  /// Restores from the latest whole checkpoint, or from the best where every later one is damaged; `warn` is told of
  /// each that is passed over. Writes the best file if the run stopped before it could, where `writes`. Nothing where
  /// there is none at all. Throws Error, and restores nothing, when there are only damaged ones, or the one chosen does
  /// not fit the model or is not to be used.
  std::optional<Saved> resume(ParameterSet& parameters, Optimizer& optimizer, Schedule& schedule,
                              const std::function<void(const std::string&)>& warn, bool writes = true,
                              const Check& check = {}) const;

  /// Path of the best checkpoint, or of the latest where there is no best. Throws Error where there is none.
  std::string best_path() const;
  /// Path of the latest. Throws Error where there is none.
  std::string last_path() const;
  /// Of which update the latest is, as its name says; 0 where there is none.
  std::uint64_t last_update() const;
  /// Where `surd average` writes, whether it did or not.
  std::string average_path() const;
  /// Paths of the latest ones, the newest first.
  std::vector<std::string> newest_first() const;

 private:
  std::string best_file() const;

  std::string folder_;
  std::size_t keep_;
  Metadata metadata_;
};

/// Sets the parameters to those of a checkpoint. Throws Error when it is damaged or cannot be read, or a name or a
/// shape differs.
void load_parameters(const std::string& path, ParameterSet& parameters, const Checkpoints::Check& check = {});

/// Of a checkpoint's metadata, what the caller of save() added.
Checkpoints::Metadata added_metadata(Checkpoints::Metadata metadata);

/// Whether a tensor of a checkpoint is the optimizer's, and not a parameter.
bool is_optimizer_slot(const std::string& name);

/// After how many updates a checkpoint was written. Throws Error, naming the path, where it is none of a run.
std::uint64_t update_of(const TensorFile& checkpoint, const std::string& path);

}  // namespace surd
