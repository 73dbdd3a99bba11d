#include "experiments/commands/shell/man_pages.hpp"

#include "experiments/command_line/command_help.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/version.hpp"

#include <fmt/format.h>

namespace surd {
namespace {

/// Text as roff prints it, character by character: nothing in it is a request or an escape, and a hyphen can be
/// searched for and copied.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '\\': escaped += "\\(rs"; break;
      case '-': escaped += "\\-"; break;
      case '\'': escaped += "\\(aq"; break;
      case '`': escaped += "\\(ga"; break;
      case '"': escaped += "\\(dq"; break;
      case '^': escaped += "\\(ha"; break;
      case '~': escaped += "\\(ti"; break;
      case '.': escaped += escaped.empty() || escaped.back() == '\n' ? "\\&." : "."; break;
      default: escaped += c;
    }
  }
  return escaped;
}
std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string page_name(const std::string& program, const CommandRow& row) {
  return replace_all(program + " " + row.name, " ", "-");
}

/// A page up to its description: its name, the version, what it is for, how it is called. Flush left and without
/// hyphenation, so that keys and options stay whole.
constexpr const char* page_head = R"(.TH {0} 1 "" "surd {1}"
.nh
.ad l
.SH NAME
{0} \- {2}
.SH SYNOPSIS
{3}
.SH DESCRIPTION
{2}
)";

std::string head_of_page(const std::string& name, const std::string& purpose, const std::string& synopsis) {
  return fmt::format(fmt::runtime(page_head), roff(name), roff(version()), roff(purpose), synopsis);
}

/// A paragraph with a tag; `tag` is roff.
std::string tagged(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", tag, roff(text));
}

std::string tagged(const Argument& argument) {
  if (argument.positional) return tagged(italic(written(argument)), explanation(argument));
  const std::string value = argument.value.empty() ? "" : " " + italic(argument.value);
  return tagged(bold(argument.spelling) + value, explanation(argument));
}

/// The end of a page: the exit codes, and the other pages to look at.
std::string end_of_page(const std::vector<std::string>& others) {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitMeaning& entry : exit_meanings) text += tagged(bold(entry.code), entry.meaning);
  text += ".SH SEE ALSO\n";
  for (const std::string& other : others)
    text += fmt::format("{}(1){}\n", bold(other), &other == &others.back() ? "" : ",");
  return text;
}

ManPage page_of_program(const CommandTable& table, const std::string& program) {
  std::string text = head_of_page(program, program_purpose, bold(program) + " " + italic("COMMAND") + " ...");
  std::vector<std::string> others;
  for (const std::string& section : table.sections()) {
    text += fmt::format(".SS {}\n", roff(section));
    for (const CommandRow& row : table.rows())
      if (row.section == section) text += tagged(bold(program + " " + row.name), row.help);
  }
  for (const CommandRow& row : table.rows()) others.push_back(page_name(program, row));
  text += ".SH OPTIONS\n" + tagged(bold("--help"), "print the commands; after a command, its arguments") +
          tagged(bold("--version"), "print the version");
  return {program, text + end_of_page(others)};
}

ManPage page_of_command(const CommandTable& table, const CommandRow& row, const std::string& program) {
  const std::string name = page_name(program, row), words = program + " " + row.name;
  std::string text = head_of_page(name, row.help, bold(words) + roff(usage(row, program).substr(words.size())));
  std::string options;
  for (const Argument& argument : row.arguments) (argument.positional ? text : options) += tagged(argument);
  text += ".SH OPTIONS\n" + options + tagged(bold("--help"), "print these arguments");
  std::vector<std::string> others = {program};
  for (const CommandRow& other : table.rows())
    if (other.section == row.section && other.name != row.name) others.push_back(page_name(program, other));
  return {name, text + end_of_page(others)};
}

}  // namespace

std::vector<ManPage> man_pages(const CommandTable& table, const std::string& program) {
  std::vector<ManPage> pages = {page_of_program(table, program)};
  for (const CommandRow& row : table.rows()) pages.push_back(page_of_command(table, row, program));
  return pages;
}

}  // namespace surd
