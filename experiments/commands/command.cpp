#include "experiments/commands/command.hpp"

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

void CommandTable::add_row(CommandRow row, const std::vector<std::string>& required) {
  expect_free(row.name);
  const std::string group = row.group();
  const bool known = group.empty() || std::any_of(groups_.begin(), groups_.end(),
                                                  [&](const CommandGroup& entry) { return entry.name == group; });
  expect(known, "command", "'{}' is in no group; add_group(\"{}\", ...) comes first", row.name, group);
  const auto command = row.make();
  row.arguments = arguments_of([&](Fields& f) { command->fields(f); }, required);
  rows_.push_back(std::move(row));
}

}  // namespace surd
