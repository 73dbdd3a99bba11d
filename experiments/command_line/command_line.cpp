#include "experiments/command_line/command_line.hpp"

#include "experiments/command_line/command_help.hpp"
#include "experiments/config/config_error.hpp"
#include "experiments/config/key_names.hpp"
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
  flush_stdout();
  return code;
}

/// What may have been meant by a word that is no command, the end of a message. `words`: those that could stand there.
std::string meant_command(const CommandTable& table, const std::string& word, const std::vector<std::string>& words) {
  if (word == "help" || word == "version") return fmt::format("; did you mean '--{}'?", word);
  std::vector<std::string> meant;
  for (const CommandRow& row : table.rows())
    if (!row.group().empty() && row.word() == word) meant.push_back(row.name);
  if (const std::string guess = nearest(word, words); !guess.empty()) meant.insert(meant.begin(), guess);
  if (meant.empty()) {
    constexpr std::size_t enough = 4;  // evaluate: eval
    for (const std::string& known : words)
      if (known.size() >= enough && word.rfind(known, 0) == 0) meant.push_back(known);
  }
  return meant.empty() ? "" : fmt::format("; did you mean '{}'?", fmt::join(meant, "' or '"));
}

/// What is wrong with the words that name the command; "" where they name one. The parser says only that one is
/// missing.
std::string unknown_command(const CommandTable& table, int argc, const char* const* argv) {
  std::vector<std::string> groups;
  for (const CommandGroup& group : table.groups()) groups.push_back(group.name);
  std::string group;
  for (int i = 1; i < std::min(argc, 3); ++i) {
    const std::string word = argv[i];
    const bool option = !word.empty() && word.front() == '-';
    if (option && i == 1 && !includes({"-h", "--help", "--version"}, word))
      return fmt::format("there is no option '{}' before a command{}", shown(word),
                         did_you_mean(word, {"--help", "--version"}));
    if (word.empty() || option) return "";
    std::vector<std::string> words = group.empty() ? groups : std::vector<std::string>();
    for (const CommandRow& row : table.rows())
      if (row.group() == group) words.push_back(row.word());
    if (!includes(words, word))
      return fmt::format("there is no command '{}{}{}'{}", group, group.empty() ? "" : " ", shown(word),
                         group.empty() ? meant_command(table, word, words) : did_you_mean(word, words));
    if (!includes(groups, word)) return "";
    group = word;
  }
  return "";
}

/// The command that the words name; nullptr where they name none.
const CommandRow* named_command(const CommandTable& table, int argc, const char* const* argv) {
  std::string name;
  for (int i = 1; i < std::min(argc, 3); ++i) {
    name += (i == 1 ? "" : " ") + std::string(argv[i]);
    const auto named = [&](const CommandRow& row) { return row.name == name; };
    const auto found = std::find_if(table.rows().begin(), table.rows().end(), named);
    if (found != table.rows().end()) return &*found;
  }
  return nullptr;
}

bool takes_settings(const CommandRow& row) {
  return std::any_of(row.arguments.begin(), row.arguments.end(), [](const Argument& a) { return a.setting(); });
}

/// The key of a config that a word names, here or elsewhere; "" where it names none.
std::string key_named(const std::string& word, const std::vector<std::string>& keys) {
  std::vector<std::string> names = names_here(word);
  names.insert(names.begin(), word);
  for (const std::string& name : names)
    if (std::string key = key_ending_in(name, keys); !key.empty()) return key;
  return "";
}

/// What may have been meant by an option that a command does not have, the end of a message: `--updates 10` is a
/// setting, `--csv` the value of an option, or another option has nearly this name or begins alike. `value`: "10", or
/// what stands for it.
std::string meant_option(const CommandTable& table, const CommandRow& row, const std::string& option,
                         const std::string& value) {
  const std::string word = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::vector<std::string> options{"--help"};
  for (const Argument& argument : row.arguments) {
    if (argument.positional) continue;
    options.push_back(argument.spelling);
    if (includes(argument.choices, word)) return fmt::format("; did you mean '{} {}'?", argument.spelling, word);
  }
  if (takes_settings(row)) {
    const std::string key = key_named(replace_all(word, "-", "_"), table.keys());
    if (!key.empty()) return fmt::format("; did you mean '--set {}={}'?", key, value);
  }
  if (std::string guess = did_you_mean(option, options); !guess.empty()) return guess;
  constexpr std::size_t enough = 5;  // --output: --out
  for (const std::string& known : options)
    if ((known.size() >= enough && option.rfind(known, 0) == 0) ||
        (word.size() == 1 && known.rfind("--" + word, 0) == 0))
      return fmt::format("; did you mean '{}'?", known);
  return "";
}

/// What is wrong with the first word that a command has no place for; "" where it is an option.
std::string left_over_word(const CommandTable& table, const CommandRow& row,
                           const std::vector<std::string>& left_over) {
  if (left_over.empty() || left_over.front().rfind('-', 0) == 0) return "";
  const std::string& word = left_over.front();
  const std::string key = takes_settings(row) ? key_named(word.substr(0, word.find('=')), table.keys()) : "";
  const bool setting = !key.empty() && word.find('=') != std::string::npos;
  return fmt::format(
      "'{}' is one word too many{}", shown(word),
      setting ? fmt::format("; did you mean '--set {}{}'?", key, shown(word.substr(word.find('=')))) : "");
}

/// What the parser says, in words of this program.
std::string parser_message(const CLI::ParseError& error, bool has_command) {
  std::string message = error.what();
  if (error.get_name() == "RequiredError" && !has_command) return "a command is missing";
  if (error.get_name() != "ArgumentMismatch") return message;
  const std::string option = message.substr(0, message.find(':'));
  if (message.find("missing") != std::string::npos) return option + " takes a value";
  return message.find("At Most 1") != std::string::npos ? option + " is given more than once" : message;
}

/// What is wrong with the first option that the command does not have; "" where there is none. `left_over`: the words
/// that the parser had no place for.
std::string unknown_option(const CommandTable& table, const CommandRow& row, const std::vector<std::string>& left_over,
                           int argc, const char* const* argv) {
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return "";  // places alone follow
    if (word.size() < 2 || word.front() != '-' || !includes(left_over, word)) continue;
    const std::size_t equals = word.find('=');
    std::string value = i + 1 < argc ? argv[i + 1] : "--";
    if (equals != std::string::npos)
      value = word.substr(equals + 1);
    else if (value.rfind("--", 0) == 0)
      value = "VALUE";
    const std::string option = word.substr(0, equals);
    return fmt::format("there is no option '{}'{}", shown(option),
                       meant_option(table, row, option, shell_word(shown(value))));
  }
  return "";
}

/// Answers words that the parser refuses with what is wrong with them, and --help with that.
int refuse(const CommandTable& table, const CLI::App& app, const CLI::ParseError& error, int argc,
           const char* const* argv) {
  if (error.get_exit_code() == 0) {
    const int code = app.exit(error);  // prints the help, or the version
    return report_errors([&] {
      flush_stdout();
      return code;
    });
  }
  const CommandRow* row = named_command(table, argc, argv);
  std::string problem;
  if (row != nullptr) {
    problem = unknown_option(table, *row, app.remaining(true), argc, argv);
    if (problem.empty()) problem = left_over_word(table, *row, app.remaining(true));
  }
  if (problem.empty()) problem = parser_message(error, row != nullptr);
  const std::string words = row != nullptr ? " " + row->name : argc > 1 ? " " + std::string(argv[1]) : "";
  to_stderr("error: {}; `{}{} --help` says what it takes\n", problem, app.get_name(), words);
  return exit_usage;
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
    return refuse(table, app, error, argc, argv);
  }

  return report_errors([&] { return run(request); });
}

}  // namespace surd
