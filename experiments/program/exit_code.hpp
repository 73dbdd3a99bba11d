#pragma once

namespace surd {

/// How the program ends; a run that is interrupted ends with 128 and the number of the signal. `exit_unfinished` is
/// EX_TEMPFAIL of sysexits.h: nothing is wrong, and the same command later goes on.
enum ExitCode { exit_done = 0, exit_failed = 1, exit_usage = 2, exit_diverged = 3, exit_unfinished = 75 };

/// What an exit code tells a person; every page that lists them is made from this.
struct ExitMeaning {
  const char* code;
  const char* meaning;
};
inline constexpr ExitMeaning exit_meanings[] = {
    {"0", "done"},
    {"1", "failed"},
    {"2", "usage or config: what was asked for cannot be, and nothing was done"},
    {"3", "a run diverged"},
    {"75",
     "stopped, and something is left: of `surd study work`, for another worker; of `surd train --ranks`, where another "
     "rank was told to stop"},
    {"128 + N", "interrupted by signal N, which was INT, TERM, USR1 or USR2, and saved once training had begun"}};

}  // namespace surd
