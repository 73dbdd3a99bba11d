#pragma once

#include "experiments/commands/command.hpp"

namespace surd {

/// The whole program: parses the arguments, runs the command and returns the exit code, see exit_code.hpp. A program
/// that adds layers, tasks or commands of its own registers them and then calls this.
int run_command_line(int argc, const char* const* argv);

/// The same, with the commands of `table` instead of commands().
int run_command_line(const CommandTable& table, int argc, const char* const* argv);

}  // namespace surd
