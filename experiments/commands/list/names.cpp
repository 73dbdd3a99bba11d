#include "experiments/command_line/command.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/run/run_config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace surd {
namespace {

template <class Table>
int print_names(const Table& table) {
  std::size_t width = 0;
  for (const std::string& name : table.names()) width = std::max(width, name.size());
  for (const std::string& name : table.names()) fmt::print("{:<{}}  {}\n", name, width, table.help(name));
  return exit_done;
}

int list_layers_command() {
  fmt::print("attention (model.attention.name)\n");
  print_names(attentions());
  fmt::print("\nfeed-forward (model.feed_forward.name)\n");
  print_names(feed_forwards());
  fmt::print("\nnorm (model.norm.kind)\n");
  print_names(norms());
  fmt::print("\npositions (model.positions.kind)\n");
  return print_names(positions());
}

int list_tasks_command() { return print_names(tasks()); }
int list_subwords_command() { return print_names(tokenizers()); }
int list_optimizers_command() { return print_names(optimizers()); }
int list_schedules_command() { return print_names(schedules()); }

}  // namespace

void add_list_names(CommandTable& table) {
  table.add("list tasks", "What can be learned (task.name)", list_tasks_command);
  table.add("list subwords", "How lines become tokens (task.subwords.kind)", list_subwords_command);
  table.add("list layers", "What a model can be made of", list_layers_command);
  table.add("list optimizers", "How gradients become steps (optimizer.name)", list_optimizers_command);
  table.add("list schedules", "How the learning rate moves (schedule.name)", list_schedules_command);
}

}  // namespace surd
