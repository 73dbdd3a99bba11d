#include "experiments/commands/command_line.hpp"

#include "experiments/commands/command_help.hpp"
#include "experiments/config/config_error.hpp"
#include "experiments/config/report_errors.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/version.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <map>

namespace surd {
namespace {

/// The command that was asked for, and the arguments that were given.
struct Request {
  const CommandRow* row = nullptr;
  GivenTexts given;
};

void print_as_help(CLI::App* app, std::function<std::string()> help) {
  app->formatter_fn(
      [help = std::move(help)](const CLI::App*, const std::string&, CLI::AppFormatMode) { return help(); });
}

CLI::Option* add_argument(CLI::App* app, const Argument& argument) {
  if (argument.flag()) return app->add_flag(argument.spelling);
  CLI::Option* option = app->add_option(argument.spelling)->required(argument.required);
  if (argument.repeated && argument.positional) option->expected(1, -1)->allow_extra_args();
  // A repeated option takes one value each time, or else it would also take the positional that follows.
  if (argument.repeated && !argument.positional) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return option;
}

void add_command(CLI::App* parent, const CommandRow& row, const std::string& program, Request& request) {
  CLI::App* app = parent->add_subcommand(row.word());
  print_as_help(app, [&] { return command_help(row, program); });
  std::vector<CLI::Option*> options;
  for (const Argument& argument : row.arguments) options.push_back(add_argument(app, argument));
  app->callback([&, options] {
    request.row = &row;
    for (std::size_t i = 0; i < options.size(); ++i)
      if (options[i]->count() > 0) request.given[row.arguments[i].field] = options[i]->results();
  });
}

int run(const Request& request) {
  const auto command = request.row->make();
  read_arguments([&](Fields& f) { command->fields(f); }, request.row->arguments, request.given);
  const int code = command->run();
  expect(std::fflush(stdout) == 0 && std::ferror(stdout) == 0, "standard output", "cannot be written");
  return code;
}

/// What is wrong with the words that name the command; "" where they name one. The parser says only that one is
/// missing.
std::string unknown_command(const CommandTable& table, int argc, const char* const* argv) {
  std::vector<std::string> groups;
  for (const CommandGroup& group : table.groups()) groups.push_back(group.name);
  std::string group;
  for (int i = 1; i < std::min(argc, 3); ++i) {
    const std::string word = argv[i];
    if (word.empty() || word.front() == '-') return "";
    std::vector<std::string> words = group.empty() ? groups : std::vector<std::string>();
    for (const CommandRow& row : table.rows())
      if (row.group() == group) words.push_back(row.word());
    if (!includes(words, word))
      return fmt::format("there is no command '{}{}{}'{}", group, group.empty() ? "" : " ", shown(word),
                         did_you_mean(word, words));
    if (!includes(groups, word)) return "";
    group = word;
  }
  return "";
}

}  // namespace

int run_command_line(const CommandTable& table, int argc, const char* const* argv) {
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "surd";
  CLI::App app("", program);
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  print_as_help(&app, [&] { return program_help(table, program); });

  std::map<std::string, CLI::App*> parents{{"", &app}};
  for (const CommandGroup& group : table.groups()) {
    CLI::App* parent = parents[group.name] = app.add_subcommand(group.name);
    parent->require_subcommand(1);
    print_as_help(parent, [&] { return group_help(table, group.name, program); });
  }
  Request request;
  for (const CommandRow& row : table.rows()) add_command(parents.at(row.group()), row, program, request);
  if (const std::string problem = unknown_command(table, argc, argv); !problem.empty()) {
    to_stderr("error: {}; `{} --help` lists them\n", problem, program);
    return exit_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_done : exit_usage;
  }

  return report_errors([&] { return run(request); });
}

}  // namespace surd
