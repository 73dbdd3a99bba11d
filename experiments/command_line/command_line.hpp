#pragma once

#include "experiments/command_line/command.hpp"

namespace surd {

/// Parses the arguments, runs the command of `table` that they name and returns the exit code, see exit_code.hpp.
int run_command_line(const CommandTable& table, int argc, const char* const* argv);

}  // namespace surd
