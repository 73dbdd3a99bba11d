#pragma once

namespace surd {

/// How the program ends; a run that is interrupted ends with 128 and the number of the signal.
enum ExitCode { exit_done = 0, exit_failed = 1, exit_usage = 2, exit_diverged = 3 };

}  // namespace surd
