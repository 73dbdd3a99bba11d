#pragma once

#include "data/dataset.hpp"
#include "experiments/run/run_config.hpp"
#include "train/storage/checkpoint.hpp"

#include <string>

namespace surd {

/// What a run writes into the metadata of its checkpoints, so that their parameters are not used with other factors or
/// other tokens: `settings`, those of its config by their keys, but for those that change no parameter and for when the
/// run ends, and `vocabulary`, a hash of codec.files().
Checkpoints::Metadata checkpoint_metadata(const RunConfig& config, const TextCodec& codec);

enum class Compared {
  all,                     ///< what a run that goes on must have in common with its checkpoint
  model,                   ///< what the model computes, how text becomes tokens, and the vocabularies
  tokens,                  ///< how text is cut into them, and the vocabularies
  making_of_vocabularies,  ///< how they are made from text, which changes nothing where they are given
};
/// From what a checkpoint's metadata tell to this config and these vocabularies, a line each; "" where nothing differs,
/// or where the metadata tell nothing: those of older versions. Throws Error, naming the checkpoint's file `path`,
/// where they are damaged.
std::string difference(const std::string& path, const Checkpoints::Metadata& metadata, const RunConfig& config,
                       const TextCodec& codec, Compared compared);

/// Whether a setting differs because a file was moved: data.json, or the hash of the vocabularies, tells whether it
/// holds the same.
bool is_moved_file(const SettingChange& change);

/// Throws Error for the checkpoint of another model than that in the folder of a run, or of other vocabularies. The
/// arguments must outlive it.
Checkpoints::Check expect_same_model(const std::string& folder, const RunConfig& config, const TextCodec& codec);

}  // namespace surd
