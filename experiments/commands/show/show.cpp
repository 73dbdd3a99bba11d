#include "experiments/commands/show/show.hpp"

#include "experiments/command_line/command.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/study/execution/study_folder.hpp"
#include "experiments/study/report/group_report.hpp"
#include "experiments/study/report/publish.hpp"

#include <fmt/format.h>

namespace surd {
namespace {

struct ShownFolderArguments {
  std::string folder;
  bool json = false;

  void fields(Fields& f) {
    f("folder", folder, "folder of a run, of a study, or of published results");
    f("json", json, "print one JSON object, with all that the files have");
  }
};

int show_command(const ShownFolderArguments& arguments) {
  const std::string& path = arguments.folder;
  const bool run = RunFolder(path).begun(), study = StudyFolder(path).begun(), published = is_published(path);
  expect_usage(!group_in(path), path, "is the folder of a group of studies; name that of one of them");
  expect_usage(run || study || published, path,
               "is the folder neither of a run nor of a study: it has no config.yaml and no study.json; surd list runs "
               "shows those there are");
  (study ? show_study : run ? show_run : show_published_study)(path, arguments.json);
  return exit_done;
}

}  // namespace

void print_fact(const std::string& label, const std::string& text) {
  constexpr std::size_t indent = 12;
  fmt::print("{}", wrapped(text, fmt::format("{:<{}}", label, indent), std::string(indent, ' '), screen_width));
}

void add_show(CommandTable& table) {
  table.add("show", "What produced a result: command, config, data, program, machine", {"folder"}, show_command);
}

}  // namespace surd
