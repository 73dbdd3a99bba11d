#pragma once

#include "data/dataset.hpp"
#include "experiments/run/run_config.hpp"

#include <memory>

namespace surd {

/// What a run is trained on, as text and as ids.
struct RunData {
  std::shared_ptr<const Corpus> corpus;
  std::shared_ptr<const Dataset> dataset;
};

/// Loads the data of a config's task. The arms and runs of a study have mostly the same, so a process keeps those it
/// loaded last, for itself and the runs that it forks: the same options, the same seed where the task takes one, and
/// files that did not change meanwhile give the same objects again. Throws Error as Task::load() and Dataset do.
RunData load_data(const RunConfig& config);

/// The same with the vocabularies in a folder, those of a run that is resumed for instance. Not kept for later calls.
RunData load_data(const RunConfig& config, const std::string& vocabulary);

}  // namespace surd
