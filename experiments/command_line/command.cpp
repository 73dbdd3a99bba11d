#include "experiments/command_line/command.hpp"

#include <algorithm>

namespace surd {

std::string CommandRow::group() const {
  const std::size_t space = name.find(' ');
  return space == std::string::npos ? "" : name.substr(0, space);
}
std::string CommandRow::word() const { return name.substr(name.find(' ') + 1); }

void CommandTable::expect_free(const std::string& name) const {
  const auto named = [&](const auto& entry) { return entry.name == name; };
  expect(std::none_of(rows_.begin(), rows_.end(), named) && std::none_of(groups_.begin(), groups_.end(), named),
         "command", "'{}' is in the table already", name);
}

void CommandTable::add_group(std::string name, std::string help) {
  expect_free(name);
  groups_.push_back({std::move(name), std::move(help)});
}

std::vector<std::string> CommandTable::sections() const {
  std::vector<std::string> headings;
  for (const CommandRow& row : rows_)
    if (!includes(headings, row.section)) headings.push_back(row.section);
  return headings;
}

void CommandTable::add_row(CommandRow row, const std::vector<std::string>& required) {
  expect_free(row.name);
  const std::string group = row.group();
  const auto found =
      std::find_if(groups_.begin(), groups_.end(), [&](const CommandGroup& entry) { return entry.name == group; });
  expect(group.empty() || found != groups_.end(), "command", "'{}' is in no group; add_group(\"{}\", ...) comes first",
         row.name, group);
  row.section = group.empty() ? section_ : found->help;
  const auto command = row.make();
  row.arguments = arguments_of([&](Fields& f) { command->fields(f); }, required);
  rows_.push_back(std::move(row));
}

}  // namespace surd
