#pragma once

#include "experiments/command_line/command.hpp"

#include <string>

/// What a person reads about the commands; all of it made from their table. `program` is what the program is called.
namespace surd {

/// What the program is for, in a sentence.
inline constexpr const char* program_purpose = "Trains small Transformers from YAML files, with every factor in sight.";

/// "surd score [OPTIONS] RUN --source FILE"
std::string usage(const CommandRow& row, const std::string& program);
/// "--set KEY=VALUE", "RUN..."
std::string written(const Argument& argument);
/// What an argument means, what it may be, and what it is where it is not given.
std::string explanation(const Argument& argument);

/// Every command in a line or two, under the headings of their sections.
std::string program_help(const CommandTable& table, const std::string& program);
/// The commands of a group. Throws Error where there is no such group.
std::string group_help(const CommandTable& table, const std::string& group, const std::string& program);
/// The arguments of a command.
std::string command_help(const CommandRow& row, const std::string& program);
/// A section of Markdown for every command of `surd`.
std::string commands_markdown(const CommandTable& table);

}  // namespace surd
