#include "experiments/command_line/command_help.hpp"

#include "experiments/program/text_format.hpp"

#include <algorithm>

namespace surd {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

std::size_t width_of(const Lines& lines) {
  std::size_t width = 0;
  for (const auto& [left, right] : lines) width = std::max(width, left.size());
  return width;
}

/// A table of two columns: what a person types, and what that means.
std::string two_columns(const Lines& lines, std::size_t width) {
  std::string text;
  for (const auto& [left, right] : lines)
    text += wrapped(right, fmt::format("  {:<{}}  ", left, width), std::string(width + 4, ' '), screen_width);
  return text;
}

/// The commands under a heading, with the columns aligned over all of them.
std::string commands_of(const CommandTable& table, const std::string& section) {
  Lines all, chosen;
  for (const CommandRow& row : table.rows()) {
    all.emplace_back(row.name, row.help);
    if (row.section == section) chosen.push_back(all.back());
  }
  return two_columns(chosen, width_of(all));
}

std::string meaning(const Argument& argument) {
  std::string text = argument.help;
  if (argument.repeated && !argument.positional) text += "; may be repeated";
  if (argument.required && !argument.positional) text += "; required";
  return text;
}

std::string joined(const std::string& left, const char* separator, const std::string& right) {
  return left.empty() || right.empty() ? left + right : left + separator + right;
}

/// For Markdown, between backticks.
std::string as_code(const std::string& text) { return fmt::format("`{}`", replace_all(text, "|", "\\|")); }

}  // namespace

std::string written(const Argument& argument) {
  const std::string dots = argument.positional && argument.repeated ? "..." : "";
  return argument.spelling + dots + (argument.value.empty() ? "" : " ") + argument.value;
}

std::string usage(const CommandRow& row, const std::string& program) {
  std::string text = program + " " + row.name;
  const auto option = [](const Argument& argument) { return !argument.required && !argument.positional; };
  if (std::any_of(row.arguments.begin(), row.arguments.end(), option)) text += " [OPTIONS]";
  for (const Argument& argument : row.arguments) {
    if (argument.required)
      text += " " + written(argument);
    else if (argument.positional)
      text += fmt::format(" [{}]", written(argument));
  }
  return text;
}

std::string explanation(const Argument& argument) {
  const std::string by_default = argument.default_value.empty() ? "" : "default " + argument.default_value;
  const std::string value = joined(argument.allowed, "; ", by_default);
  return joined(meaning(argument), " ", value.empty() ? "" : "(" + value + ")");
}

std::string program_help(const CommandTable& table, const std::string& program) {
  std::string text = fmt::format("Usage: {} COMMAND ...\n\n{}\n", program, program_purpose);
  for (const std::string& section : table.sections())
    text += fmt::format("\n{}:\n{}", section, commands_of(table, section));
  return text + fmt::format("\n{} COMMAND --help tells more of one; --version prints the version.\n", program);
}

std::string group_help(const CommandTable& table, const std::string& group, const std::string& program) {
  const auto& groups = table.groups();
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& entry) { return entry.name == group; });
  expect(found != groups.end(), "command", "there is no group '{}'", group);
  return fmt::format("Usage: {} {} COMMAND ...\n\n{}\n\n{}", program, group, found->help,
                     commands_of(table, found->help));
}

std::string command_help(const CommandRow& row, const std::string& program) {
  Lines positionals, options;
  for (const Argument& argument : row.arguments)
    (argument.positional ? positionals : options).emplace_back(written(argument), explanation(argument));
  options.emplace_back("--help", "print this");
  std::string text = wrapped(usage(row, program), "Usage: ", "           ", screen_width) + "\n" +
                     wrapped(row.help, "", "", screen_width) + "\n";
  if (!positionals.empty()) text += two_columns(positionals, width_of(positionals)) + "\n";
  return text + "Options:\n" + two_columns(options, width_of(options));
}

std::string commands_markdown(const CommandTable& table) {
  std::string text;
  for (const CommandRow& row : table.rows()) {
    text +=
        fmt::format("{}## surd {}\n\n{}\n\n    {}\n", text.empty() ? "" : "\n", row.name, row.help, usage(row, "surd"));
    if (!row.arguments.empty()) text += "\n| Argument | Default | Meaning |\n|---|---|---|\n";
    for (const Argument& argument : row.arguments)
      text += fmt::format("| {} | {} | {} |\n", as_code(written(argument)),
                          argument.default_value.empty() ? "" : as_code(argument.default_value),
                          markdown_text(joined(meaning(argument), "; ", argument.allowed)));
  }
  return text;
}

}  // namespace surd
