#include "experiments/command_line/command_help.hpp"
#include "experiments/commands/all_commands.hpp"
#include "experiments/commands/shell/man_pages.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/program_name.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>

namespace surd {
namespace {

constexpr const char* commands_page = R"(# Every command

Written by `surd commands --markdown`; `surd commands` prints the same to a terminal, `surd COMMAND --help` one of them,
and `surd commands --man FOLDER` writes them as pages for man. [shell.md](shell.md) says how to install those, and what
signals and pipes do.

A command ends with one of these exit codes:

| Exit code | Meaning |
|---|---|
{}
{})";

struct CommandsArguments {
  bool markdown = false;
  std::string man;

  void fields(Fields& f) {
    f("markdown", markdown, "as docs/commands.md");
    f("man", man, "write a page for man of each command into this folder", Unit{"folder"});
    f.rule(!markdown || man.empty(), "man", "is given beside --markdown; give one of them");
  }
};

std::string exit_codes_markdown() {
  std::string text;
  for (const ExitMeaning& entry : exit_meanings) text += fmt::format("| {} | {} |\n", entry.code, entry.meaning);
  return text;
}

int commands_command(const CommandsArguments& arguments) {
  if (arguments.markdown) {
    fmt::print(fmt::runtime(commands_page), exit_codes_markdown(), commands_markdown(commands()));
    return exit_done;
  }
  if (!arguments.man.empty()) {
    make_folders(arguments.man);
    for (const ManPage& page : man_pages(commands(), program_name()))
      write_file_atomically(arguments.man + "/" + page.name + ".1", page.text);
    return exit_done;
  }
  for (const CommandRow& row : commands().rows()) fmt::print("{}\n", command_help(row, program_name()));
  return exit_done;
}

}  // namespace

void add_commands(CommandTable& table) {
  table.add("commands", "Print the help of every command, or write it as pages for man", {}, commands_command);
}

}  // namespace surd
