#pragma once

#include "experiments/command_line/command.hpp"

/// The commands of the program; this room may use every other one. Start with doctor.cpp, a short command, and
/// all_commands.cpp, which lists them all.
namespace surd {

/// The commands of surd. A program outside this tree adds its own before it calls run_command_line().
CommandTable& commands();

/// The whole program: parses the arguments, runs the command and returns the exit code, see exit_code.hpp. A program
/// that adds layers, tasks or commands of its own registers them and then calls this.
int run_command_line(int argc, const char* const* argv);

}  // namespace surd
