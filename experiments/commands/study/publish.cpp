#include "experiments/study/report/publish.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"

namespace surd {
namespace {

struct StudyPublishArguments : StudyFolderArguments {
  std::string out;

  void fields(Fields& f) {
    StudyFolderArguments::fields(f);
    f("out", out, "folder for the results, e.g. experiments/results/NAME", Unit{"folder"});
  }
};

int study_publish_command(const StudyPublishArguments& arguments) {
  const StudyFolder folder(arguments.folder);
  publish(folder, folder.study(), arguments.out);
  Console().line(fmt::format("results     {}", arguments.out));
  return exit_done;
}

}  // namespace

void add_study_publish(CommandTable& table) {
  table.add("study publish", "Write a finished study's results without its runs, for a repository", {"folder", "--out"},
            study_publish_command);
}

}  // namespace surd
