#include "experiments/commands/command.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/run/run_config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace surd {
namespace {

enum class Listed { tasks, subwords, layers, optimizers, schedules };
std::vector<std::string> names_of(Listed) { return {"tasks", "subwords", "layers", "optimizers", "schedules"}; }

struct ListArguments {
  Listed what = Listed::tasks;

  void fields(Fields& f) { f("what", what, "what to list"); }
};

template <class Table>
void print_table(const Table& table) {
  std::size_t width = 0;
  for (const std::string& name : table.names()) width = std::max(width, name.size());
  for (const std::string& name : table.names()) fmt::print("{:<{}}  {}\n", name, width, table.help(name));
}

int list_command(const ListArguments& arguments) {
  switch (arguments.what) {
    case Listed::tasks: print_table(tasks()); break;
    case Listed::subwords: print_table(tokenizers()); break;
    case Listed::optimizers: print_table(optimizers()); break;
    case Listed::schedules: print_table(schedules()); break;
    case Listed::layers:
      fmt::print("attention (model.attention.name)\n");
      print_table(attentions());
      fmt::print("\nfeed-forward (model.feed_forward.name)\n");
      print_table(feed_forwards());
      fmt::print("\nnorm (model.norm.kind)\n");
      print_table(norms());
      fmt::print("\npositions (model.positions.kind)\n");
      print_table(positions());
  }
  return exit_done;
}

}  // namespace

void add_list(CommandTable& table) { table.add("list", "What a config can name", {"what"}, list_command); }

}  // namespace surd
