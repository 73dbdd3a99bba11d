#include "experiments/commands/shell/completion.hpp"

#include "experiments/commands/all_commands.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/program_name.hpp"

#include <fmt/format.h>

#include <cctype>

namespace surd {
namespace {

enum class Shell { bash, zsh };
std::vector<std::string> names_of(Shell) { return {"bash", "zsh"}; }

struct CompletionArguments {
  Shell shell = Shell::bash;

  void fields(Fields& f) { f("shell", shell, "whose script to print"); }
};

int completion_command(const CompletionArguments& arguments) {
  const auto script = arguments.shell == Shell::bash ? bash_completion : zsh_completion;
  fmt::print("{}", script(commands(), program_name()));
  return exit_done;
}

}  // namespace

std::vector<std::string> names_of(Completion) {
  return {"nothing", "words", "settings", "keys", "folders", "files", "checkpoints"};
}

Completion completion_of(const Argument& argument) {
  if (!argument.choices.empty()) return Completion::words;
  if (!argument.text) return Completion::nothing;
  if (argument.setting()) return Completion::settings;
  const std::string& value = argument.positional ? argument.spelling : argument.value;
  if (value == "KEY") return Completion::keys;
  if (value == "CHECKPOINT") return Completion::checkpoints;
  return value == "FOLDER" || value == "RUN" ? Completion::folders : Completion::files;
}

std::vector<std::pair<std::string, std::string>> words_after(const CommandTable& table, const std::string& group) {
  std::vector<std::pair<std::string, std::string>> words;
  for (const CommandRow& row : table.rows())
    if (row.group() == group) words.emplace_back(row.word(), row.help);
  if (group.empty())
    for (const CommandGroup& entry : table.groups()) words.emplace_back(entry.name, entry.help);
  return words;
}

std::set<std::string> keys_and_mappings(const CommandTable& table) {
  std::set<std::string> all;
  for (const std::string& key : table.keys()) {
    for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1))
      all.insert(key.substr(0, dot));
    all.insert(key);
  }
  return all;
}

std::string completion_function(const std::string& program) {
  std::string name = "_" + program;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

void add_completion(CommandTable& table) {
  table.add("completion", "Print a script with which a shell completes commands", {"shell"}, completion_command);
}

}  // namespace surd
