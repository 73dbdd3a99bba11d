#include "autograd/blas.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/config/config_error.hpp"
#include "experiments/config/describe_options.hpp"
#include "experiments/config/key_names.hpp"
#include "experiments/config/schema/file_schema.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/data/unknown_tokens.hpp"
#include "experiments/run/experiment.hpp"
#include "experiments/study/file/file_kind.hpp"

#include <fmt/format.h>

namespace surd {
namespace {

constexpr const char* config_page = R"(# Every key of a config

Written by `surd config reference --markdown`; `surd config reference` prints the same to a terminal, and `surd config
reference model.attention` what stands below a key.

A config is one YAML file; `surd config check FILE` reports every problem of it at once, and `surd config show FILE`
prints it with every default written out. `extends: NAME` at its top builds upon a preset, or upon a file if NAME has a
`/` or ends in `.yaml`; `--set a.b.c=value` on the command line goes over both.

Factors are written `one`, `sqrt_dim`, `inv_sqrt_dim`, `inv_dim`, a number, a number times one of these (`8 * inv_dim`),
or any of these after `learned`, which makes the factor a parameter that starts there. Whole numbers are digits, with
`_` between them if you like. Anchors, aliases, tags, `<<` and a second document are refused.

`surd config schema` prints this page as a JSON Schema (draft-07), of which `experiments/config.schema.json` is a copy.
Editors that use yaml-language-server, such as VS Code with the extension YAML by Red Hat, complete keys, show what they
mean and underline what is wrong once a comment of the file says where that copy is, as the first line of each sample
does: `# yaml-language-server: $schema=../config.schema.json`, a path from the file's own folder. The schema refuses
nothing that is valid; rules over several values, and what the data says, are for `surd config check`.

{})";

/// Builds what the config describes, without training.
int config_check_command(const ConfigArguments& arguments) {
  blas::initialize();
  const ConfigFile config = read_config(arguments.config, arguments.settings.values);
  const Experiment experiment = while_waiting(waiting_for_data, [&] { return Experiment(config); });
  const std::string warning = warning_of(experiment.unknown, *experiment.data.corpus);
  if (!warning.empty()) Console().warn(warning);
  fmt::print("{}: ok\n", arguments.config);
  return exit_done;
}

struct ShowArguments : ConfigArguments {
  bool comments = false;

  void fields(Fields& f) {
    ConfigArguments::fields(f);
    f("comments", comments, "with the meaning of each key");
  }
};

int config_show_command(const ShowArguments& arguments) {
  const RunConfig config = read_config(arguments.config, arguments.settings.values).config;
  fmt::print("{}", to_yaml(config, arguments.comments ? WithHelp::yes : WithHelp::no));
  return exit_done;
}

struct ReferenceArguments {
  std::string key;
  bool markdown = false;

  void fields(Fields& f) {
    f("key", key, "print it and what stands below it alone, e.g. model.attention");
    f("markdown", markdown, "as docs/config.md");
  }
};

/// The rows of a key and of those below it. Throws UsageError where there is no such key.
std::vector<OptionRow> rows_below(const std::string& key, const std::vector<OptionRow>& all) {
  std::vector<OptionRow> rows;
  std::vector<std::string> paths;
  for (const OptionRow& row : all) {
    paths.push_back(row.path);
    if ((row.path + ".").rfind(key + ".", 0) == 0 || row.path.rfind(key + "[", 0) == 0) rows.push_back(row);
  }
  std::vector<std::string> meant;
  std::vector<std::string> names = names_here(key);
  names.push_back(key);
  for (const std::string& name : names)
    if (const std::string path = key_ending_in(name, paths); !path.empty()) meant.push_back(path);
  expect_usage(
      !rows.empty(), "KEY", "there is no key '{}'{}; without KEY all are printed", shown(key),
      meant.empty() ? did_you_mean(key, paths) : fmt::format("; did you mean '{}'?", fmt::join(meant, "' or '")));
  return rows;
}

int config_reference_command(const ReferenceArguments& arguments) {
  auto rows = describe_options<RunConfig>();
  if (!arguments.key.empty()) rows = rows_below(arguments.key, rows);
  fmt::print("{}", arguments.markdown ? fmt::format(fmt::runtime(config_page), reference_markdown(rows))
                                      : reference_text(rows));
  return exit_done;
}

int config_schema_command() {
  fmt::print("{}", schema_text("A config of surd", file_schema(options_schema<RunConfig>())));
  return exit_done;
}

}  // namespace

void add_config_check(CommandTable& table) {
  table.add("config check", "Report every problem of a file", {"config"}, config_check_command);
}
void add_config_show(CommandTable& table) {
  table.add("config show", "Print a file with every default written out", {"config"}, config_show_command);
}
void add_config_reference(CommandTable& table) {
  table.add("config reference", "Print every key there is, or those below one", {"key?"}, config_reference_command);
}
void add_config_schema(CommandTable& table) {
  table.add("config schema", "Print the JSON Schema of a file, for editors", config_schema_command);
}

}  // namespace surd
