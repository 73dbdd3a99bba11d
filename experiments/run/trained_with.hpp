#pragma once

#include "data/dataset.hpp"
#include "experiments/config/settings.hpp"
#include "experiments/run/run_config.hpp"
#include "train/storage/checkpoint.hpp"

#include <string>
#include <vector>

namespace surd {

/// The settings of a config with every default, as `surd config show` has them.
Settings settings_of(const RunConfig& config);

/// The keys that say when a run ends, which alone may change when it goes on.
const std::vector<std::string>& keys_of_end();

/// What the checkpoints of a run tell of it in their metadata, so that their parameters are not used with other factors
/// or other tokens: `settings`, those of its config by their keys, without when it ends, where its data lie and what it
/// logs and keeps, and `vocabulary`, a hash of codec.files().
Checkpoints::Metadata trained_with(const RunConfig& config, const TextCodec& codec);

/// What trained_with() would tell otherwise than the metadata of a checkpoint do, a line each; "" where nothing is, or
/// where they tell nothing: those of older versions, and of imported models. `whole`: of all settings, as a run that
/// goes on needs them; else of the model, and of how text becomes tokens.
std::string trained_otherwise(const Checkpoints::Metadata& metadata, const RunConfig& config, const TextCodec& codec,
                              bool whole);

}  // namespace surd
