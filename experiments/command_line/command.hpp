#pragma once

#include "experiments/command_line/arguments.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// What a command line is made of. A command is a struct of arguments with a field list, a function of it that returns
/// the exit code, and a row of a table; the parser, --help and docs/commands.md are made from these:
///
///     struct HelloArguments {
///       std::string name;
///       bool loudly = false;
///       void fields(Fields& f) {
///         f("name", name, "whom to greet");
///         f("loudly", loudly, "in capitals");
///       }
///     };
///     int hello(const HelloArguments& arguments);
///
///     table.add("hello", "Greet somebody", {"name"}, hello);  // surd hello NAME [--loudly]
namespace surd {

/// A command together with its arguments.
class AnyCommand {
 public:
  virtual ~AnyCommand() = default;
  virtual void fields(Fields& f) = 0;
  virtual int run() const = 0;
};

struct CommandRow {
  std::string name;  ///< "train"; "study run" is a command of the group "study"
  std::string help;
  std::vector<Argument> arguments;
  std::function<std::unique_ptr<AnyCommand>()> make;  ///< with the arguments at their defaults
  std::string section = {};                           ///< the heading that it stands under in --help

  std::string group() const;  ///< "study"; "" for a command of no group
  std::string word() const;   ///< "run"
};

struct CommandGroup {
  std::string name;
  std::string help;
};

class CommandTable {
 public:
  /// A group of commands, whose help is the heading that they stand under. Throws Error where the name is taken.
  void add_group(std::string name, std::string help);
  /// The heading of the commands of no group that are added from here on.
  void section(std::string heading) { section_ = std::move(heading); }
  /// The keys that --set takes. They are asked for when they are needed, as a program may add to them until then.
  void set_keys(std::function<std::vector<std::string>()> keys) { keys_ = std::move(keys); }

  /// Adds a command in two words to the group of its first. `required`: what must be given, see arguments_of(). Throws
  /// Error where the name is taken, there is no such group, or the field list does not suit a command line.
  template <class Arguments>
  void add(std::string name, std::string help, const std::vector<std::string>& required,
           int (*function)(const Arguments&)) {
    add_row({std::move(name), std::move(help), {}, [=] { return std::make_unique<Command<Arguments>>(function); }},
            required);
  }
  /// A command without arguments.
  void add(std::string name, std::string help, int (*function)()) {
    const auto call = [=](const NoOptions&) { return function(); };
    add_row({std::move(name), std::move(help), {}, [=] { return std::make_unique<Command<NoOptions>>(call); }}, {});
  }

  /// In the order of --help.
  const std::vector<CommandRow>& rows() const { return rows_; }
  const std::vector<CommandGroup>& groups() const { return groups_; }
  /// The headings of --help that have commands, in the order of their first ones.
  std::vector<std::string> sections() const;
  /// "seed", "model.d_model", ...; none where nobody has said.
  std::vector<std::string> keys() const { return keys_ ? keys_() : std::vector<std::string>(); }

 private:
  template <class Arguments>
  class Command : public AnyCommand {
   public:
    explicit Command(std::function<int(const Arguments&)> function) : function_(std::move(function)) {}
    void fields(Fields& f) override { arguments_.fields(f); }
    int run() const override { return function_(arguments_); }

   private:
    Arguments arguments_;
    std::function<int(const Arguments&)> function_;
  };

  void add_row(CommandRow row, const std::vector<std::string>& required);
  void expect_free(const std::string& name) const;

  std::vector<CommandRow> rows_;
  std::vector<CommandGroup> groups_;
  std::string section_ = "Commands";
  std::function<std::vector<std::string>()> keys_;
};

}  // namespace surd
