#include "autograd/blas.hpp"
#include "experiments/commands.hpp"
#include "experiments/config.hpp"
#include "experiments/describe_options.hpp"
#include "experiments/system_info.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace surd {
namespace {

template <class Table>
void print_table(const Table& table) {
  std::size_t width = 0;
  for (const std::string& name : table.names()) width = std::max(width, name.size());
  for (const std::string& name : table.names()) fmt::print("{:<{}}  {}\n", name, width, table.help(name));
}

}  // namespace

int config_check_command(const std::string& file, const std::vector<std::string>& settings) {
  load_config(file, settings);
  fmt::print("{}: ok\n", file);
  return exit_done;
}

int config_show_command(const std::string& file, const std::vector<std::string>& settings) {
  fmt::print("{}", to_yaml(load_config(file, settings)));
  return exit_done;
}

int config_reference_command() {
  fmt::print("{}", reference_text(describe_options<RunConfig>()));
  return exit_done;
}

int list_command(const std::string& what) {
  if (what == "tasks") {
    print_table(tasks());
  } else if (what == "optimizers") {
    print_table(optimizers());
  } else if (what == "schedules") {
    print_table(schedules());
  } else {
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

int doctor_command() {
  for (const auto& [key, value] : system_info()) fmt::print("{:<14} {}\n", key, value);
  const double error = blas::self_test_error(), allowed = blas::self_test_tolerance();
  const bool passed = error <= allowed;
  fmt::print("{:<14} {}: relative error {:.2g} of matrix products, allowed {:.2g}\n", "self_test",
             passed ? "passed" : "FAILED", error, allowed);
  return passed ? exit_done : exit_failed;
}

}  // namespace surd
