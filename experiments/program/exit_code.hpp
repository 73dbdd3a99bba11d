#pragma once

namespace surd {

/// How the program ends; a run that is interrupted ends with 128 and the number of the signal. `exit_unfinished` is
/// EX_TEMPFAIL of sysexits.h: nothing is wrong, and the same command later goes on.
enum ExitCode { exit_done = 0, exit_failed = 1, exit_usage = 2, exit_diverged = 3, exit_unfinished = 75 };

}  // namespace surd
