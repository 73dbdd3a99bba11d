#include "experiments/commands/shell/completion.hpp"
#include "experiments/program/text_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace surd {
namespace {

/// In a folder of fpath the file is the function's body; where it is sourced, it names the function.
constexpr const char* zsh_script = R"zsh(#compdef @program@
# zsh completion of @program@, written by `@program@ completion zsh`

@function@_settings() {
  compadd "$@" -S '=' -- @settings@
}

@function@_keys() {
  compadd "$@" -- @keys@
}

@function@_checkpoints() {
  compadd "$@" -- best last average
  _files "$@"
}

@function@() {
  local -a entries flags
  local name=$words[2] gone=1
  case $CURRENT:$name in
@words@  esac
  if (( $#entries )); then
    if [[ $PREFIX == -* ]]; then
      compadd -- $flags
    else
      _describe command entries
    fi
    return
  fi
  case $name in
    @groups@) name+=" $words[3]" gone=2 ;;
  esac
  shift $gone words
  (( CURRENT -= gone ))
  case $name in
@commands@  esac
}

if [[ $funcstack[1] == @function@ ]]; then
  @function@ "$@"
else
  compdef @function@ @program@
fi
)zsh";

/// The first statement of a help text, which a menu has room for.
std::string first_statement(const std::string& help) {
  std::size_t end = help.size();
  for (const char* stop : {";", ": ", " [", " ("}) end = std::min(end, help.find(stop));
  std::size_t dot = help.find(". ");
  while (dot < end && std::isupper(static_cast<unsigned char>(help[dot + 2])) == 0) dot = help.find(". ", dot + 1);
  return help.substr(0, std::min(end, dot));
}

/// Text with a backslash before what would end a part of a specification.
std::string part_of_specification(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == ':' || c == '[' || c == ']') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_action(const Argument& argument, const std::string& function) {
  switch (completion_of(argument)) {
    case Completion::nothing: break;
    case Completion::words: return fmt::format("({})", fmt::join(argument.choices, " "));
    case Completion::settings: return function + "_settings";
    case Completion::keys: return function + "_keys";
    case Completion::folders: return "_files -/";
    case Completion::files: return "_files";
    case Completion::checkpoints: return function + "_checkpoints";
  }
  return " ";
}

/// The arguments of a command as _arguments takes them, a line each.
std::string zsh_command(const CommandRow& row, const std::string& function) {
  std::string specifications;
  std::size_t place = 0;
  for (const Argument& argument : row.arguments) {
    std::string specification = argument.repeated ? "*" : "";
    if (argument.positional && !argument.repeated)
      specification += fmt::format("{}{}", ++place, argument.required ? "" : ":");
    if (!argument.positional)
      specification += fmt::format("{}{}[{}]", argument.spelling, argument.flag() ? "" : "=",
                                   part_of_specification(first_statement(argument.help)));
    if (!argument.flag())
      specification += fmt::format(":{}:{}", argument.positional ? argument.spelling : argument.value,
                                   zsh_action(argument, function));
    specifications += shell_word(specification) + " \\\n        ";
  }
  return fmt::format("    '{}')\n      _arguments \\\n        {}'--help[print this]' ;;\n", row.name, specifications);
}

std::string zsh_words(const CommandTable& table, const std::string& group) {
  std::string entries;
  for (const auto& [word, help] : words_after(table, group))
    entries += "        " + shell_word(word + ":" + part_of_specification(help)) + "\n";
  return fmt::format("    {})\n      flags=(--help{})\n      entries=(\n{}      ) ;;\n",
                     group.empty() ? "2:*" : "3:" + group, group.empty() ? " --version" : "", entries);
}

}  // namespace

std::string zsh_completion(const CommandTable& table, const std::string& program) {
  const std::string function = completion_function(program);
  std::string words = zsh_words(table, ""), commands, groups;
  for (const CommandGroup& group : table.groups()) {
    words += zsh_words(table, group.name);
    groups += (groups.empty() ? "" : " | ") + group.name;
  }
  for (const CommandRow& row : table.rows()) commands += zsh_command(row, function);
  std::string script = replace_all(zsh_script, "@commands@", commands);
  script = replace_all(script, "@words@", words);
  script = replace_all(script, "@groups@", groups.empty() ? "''" : groups);
  script = replace_all(script, "@keys@", fmt::format("{}", fmt::join(keys_and_mappings(table), " ")));
  script = replace_all(script, "@settings@", fmt::format("{}", fmt::join(table.keys(), " ")));
  script = replace_all(script, "@function@", function);
  return replace_all(script, "@program@", program);
}

}  // namespace surd
