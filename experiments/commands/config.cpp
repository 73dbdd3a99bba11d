#include "autograd/blas.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/config/describe_options.hpp"
#include "experiments/run/experiment.hpp"
#include "experiments/run/system_info.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace surd {
namespace {

constexpr const char* markdown_page = R"(# Every key of a config

Written by `surd config reference --markdown`; `surd config reference` prints the same to a terminal.

A config is one YAML file; `surd config check FILE` reports every problem of it at once, and `surd config show FILE`
prints it with every default written out. `extends: NAME` at its top builds upon a preset, or upon a file if NAME has a
`/` or ends in `.yaml`; `--set a.b.c=value` on the command line goes over both.

Factors are written `one`, `sqrt_dim`, `inv_sqrt_dim`, `inv_dim`, a number, a number times one of these (`8 * inv_dim`),
or any of these after `learned`, which makes the factor a parameter that starts there. Whole numbers are digits, with
`_` between them if you like. Anchors, aliases, tags, `<<` and a second document are refused.

{})";

template <class Table>
void print_table(const Table& table) {
  std::size_t width = 0;
  for (const std::string& name : table.names()) width = std::max(width, name.size());
  for (const std::string& name : table.names()) fmt::print("{:<{}}  {}\n", name, width, table.help(name));
}

}  // namespace

int config_check_command(const std::string& file, const std::vector<std::string>& settings) {
  blas::initialize();
  const Experiment experiment(ConfigFile(file, settings));
  fmt::print("{}: ok\n", file);
  return exit_done;
}

int config_show_command(const std::string& file, const std::vector<std::string>& settings, bool comments) {
  fmt::print("{}", to_yaml(load_config(file, settings), comments ? WithHelp::yes : WithHelp::no));
  return exit_done;
}

int config_reference_command(bool markdown) {
  const auto rows = describe_options<RunConfig>();
  fmt::print("{}",
             markdown ? fmt::format(fmt::runtime(markdown_page), reference_markdown(rows)) : reference_text(rows));
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
