#include "experiments/commands/shell/completion.hpp"
#include "experiments/program/text_format.hpp"

#include <fmt/format.h>

namespace surd {
namespace {

/// @commands@ are an arm each, with what may stand behind the command: its options, which of them take what for a
/// value, and what its places take. A kind is a name of Completion, or = and the words to offer.
constexpr const char* bash_script = R"bash(# bash completion of @program@, written by `@program@ completion bash`
@function@() {
  # Bash takes a word with = in it for several; here they are put together again.
  local word glue= words=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if ((${#words[@]})) && [[ $word == '=' || $glue ]]; then
      words[${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    if [[ $word == '=' ]]; then glue=yes; else glue=; fi
  done
  local count=${#words[@]} current=${words[${#words[@]}-1]} command= first=1
  ((count > 1)) && command=${words[0]}
  case $command in
    @groups@) ((count > 2)) && command+=" ${words[1]}" first=2 ;;
  esac

  local kind= options= places=() repeated=
  local -A takes=()
  case $command in
@commands@  esac

  if [[ -z $kind ]]; then
    local place=0 open=
    for word in "${words[@]:first:count-1-first}"; do
      if [[ $open ]]; then
        open=
      elif [[ $word == -* ]]; then
        open=${takes[$word]-}
      else
        ((place += 1))
      fi
    done
    if [[ $open ]]; then
      kind=$open
    elif [[ $current == --*=* ]]; then
      kind=${takes[${current%%=*}]-nothing} current=${current#*=}
    elif [[ $current == -* ]]; then
      kind="=$options"
    else
      kind=${places[place]-${repeated:-nothing}}
    fi
  fi

  COMPREPLY=()
  case $kind in
    '='*) mapfile -t COMPREPLY < <(compgen -W "${kind#=}" -- "$current") ;;
    keys) mapfile -t COMPREPLY < <(compgen -W '@keys@' -- "$current") ;;
    settings)
      [[ $current == *=* ]] || mapfile -t COMPREPLY < <(compgen -S = -W '@settings@' -- "$current")
      compopt -o nospace 2>/dev/null ;;
    folders)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      compopt -o filenames 2>/dev/null ;;
    checkpoints)
      mapfile -t COMPREPLY < <(compgen -W 'best last average' -- "$current"; compgen -f -- "$current")
      compopt -o filenames 2>/dev/null ;;
    files)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      compopt -o filenames 2>/dev/null ;;
  esac
  return 0
}
complete -F @function@ @program@
)bash";

std::string bash_kind(const Argument& argument) {
  const Completion kind = completion_of(argument);
  return kind == Completion::words ? shell_word(fmt::format("={}", fmt::join(argument.choices, " "))) : name_of(kind);
}

/// An arm for what is complete: "study run".
std::string bash_command(const CommandRow& row) {
  std::string options, takes, places, repeated;
  for (const Argument& argument : row.arguments) {
    const std::string kind = bash_kind(argument);
    if (argument.positional) {
      (argument.repeated ? repeated : places) += " " + kind;
      continue;
    }
    options += argument.spelling + " ";
    if (!argument.flag()) takes += fmt::format(" [{}]={}", argument.spelling, kind);
  }
  std::string arm = fmt::format("    '{}') options='{}--help'", row.name, options);
  if (!takes.empty()) arm += fmt::format(" takes=({})", takes.substr(1));
  if (!places.empty()) arm += fmt::format(" places=({})", places.substr(1));
  if (!repeated.empty()) arm += " repeated=" + repeated.substr(1);
  return arm + " ;;\n";
}

/// An arm for what another word must follow: "study", or "" for the program.
std::string bash_words(const CommandTable& table, const std::string& group) {
  std::string words;
  for (const auto& [word, help] : words_after(table, group)) words += word + " ";
  return fmt::format("    '{}') kind='={}--help{}' ;;\n", group, words, group.empty() ? " --version" : "");
}

}  // namespace

std::string bash_completion(const CommandTable& table, const std::string& program) {
  std::string commands = bash_words(table, ""), groups;
  for (const CommandGroup& group : table.groups()) {
    commands += bash_words(table, group.name);
    groups += (groups.empty() ? "" : " | ") + group.name;
  }
  for (const CommandRow& row : table.rows()) commands += bash_command(row);
  std::string script = replace_all(bash_script, "@commands@", commands);
  script = replace_all(script, "@groups@", groups.empty() ? "''" : groups);
  script = replace_all(script, "@keys@", fmt::format("{}", fmt::join(keys_and_mappings(table), " ")));
  script = replace_all(script, "@settings@", fmt::format("{}", fmt::join(table.keys(), " ")));
  script = replace_all(script, "@function@", completion_function(program));
  return replace_all(script, "@program@", program);
}

}  // namespace surd
