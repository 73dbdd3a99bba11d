#pragma once

#include "train/storage/checkpoint.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace surd {

/// Writes the mean of the parameters of some checkpoints, summed in double precision, in the format of a checkpoint
/// without optimizer and state: load_parameters() takes it, a run cannot be resumed from it. Its metadata name the
/// updates under "averaged_updates", beside what was added to those of the first and `more`. Returns those updates, in
/// the order of the paths.
///
/// Throws Error where there are no paths, one is not a checkpoint of a run, two are of one update, or they are of
/// different models.
std::vector<std::uint64_t> average_checkpoints(const std::vector<std::string>& paths, const std::string& to,
                                               const Checkpoints::Check& check = {},
                                               const Checkpoints::Metadata& more = {});

}  // namespace surd
