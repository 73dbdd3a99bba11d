#pragma once

#include "experiments/run/run_config.hpp"
#include "experiments/study/execution/workers/attempt.hpp"
#include "experiments/study/execution/workers/child_process.hpp"

#include <string>

namespace surd {

/// Makes a run, in the child process, and writes all it prints to its log. Returns the child's exit code.
int make_run(const Attempt& attempt, const ConfigFile& file, bool keep_checkpoints);

/// "diverged at update 7: encoder.0: softmax is not finite", of a run that did. Throws Error.
std::string divergence(const Attempt& attempt);
/// What a run printed last, as much as a message has room for.
std::string last_lines(const Attempt& attempt);
/// Why a run failed, by how its process ended and what it printed last.
std::string failure(const Attempt& attempt, const ChildEnd& end);
/// Whether a stop signal ended it.
bool was_stopped(const ChildEnd& end);

}  // namespace surd
