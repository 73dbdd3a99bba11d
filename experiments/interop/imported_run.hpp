#pragma once

#include "experiments/run/run_config.hpp"

#include <map>
#include <string>

namespace surd {

/// A model that another tool, or an export, has left: what a run's folder is made from.
struct ImportedRun {
  std::string origin;  ///< the file or folder, for messages
  RunConfig config;
  std::map<std::string, std::string> vocabulary;  ///< bytes of the files that TextCodec::load() reads, by name
  std::map<std::string, Tensor> parameters;       ///< all of the model's
};

/// Throws Error where a config that came with a model extends another file, which whoever made it might want to be
/// read. `where` names it in the message.
void expect_whole_config(const std::string& text, const std::string& where);

/// Makes a run of it, whose checkpoint `best` holds the parameters, so that every command takes its folder. Throws
/// UsageError where there is something already, and Error where the parameters are not the model's or the folder cannot
/// be written; then there is none.
void write_run(const std::string& folder, const ImportedRun& run);

}  // namespace surd
