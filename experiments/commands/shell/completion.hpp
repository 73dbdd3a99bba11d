#pragma once

#include "experiments/command_line/command.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

/// Scripts with which a shell completes the command line of a program, made from the table of its commands.
namespace surd {

std::string bash_completion(const CommandTable& table, const std::string& program);
std::string zsh_completion(const CommandTable& table, const std::string& program);

/// What a shell offers for the value of an argument; `settings` are keys with the = that --set wants after them.
enum class Completion { nothing, words, settings, keys, folders, files, checkpoints };
std::vector<std::string> names_of(Completion);
Completion completion_of(const Argument& argument);

/// What may follow the name of the program (group "") or of a group: each word, and what it is for.
std::vector<std::pair<std::string, std::string>> words_after(const CommandTable& table, const std::string& group);

/// The keys that --set takes, and the mappings that they stand in.
std::set<std::string> keys_and_mappings(const CommandTable& table);

/// The name of the shell's function: "_my_surd" for the program "my-surd".
std::string completion_function(const std::string& program);

}  // namespace surd
