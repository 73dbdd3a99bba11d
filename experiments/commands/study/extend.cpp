#include "experiments/command_line/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/commands/study/make_runs.hpp"

namespace surd {
namespace {

struct StudyExtendArguments : StudyFolderArguments {
  std::size_t seeds = 0;
  std::optional<std::size_t> jobs;

  void fields(Fields& f) {
    StudyFolderArguments::fields(f);
    f("seeds", seeds, "how many more", between(1, 10'000));
    f("jobs", jobs, "runs side by side [one a core]", between(1, 1024));
  }
};

int study_extend_command(const StudyExtendArguments& arguments) {
  const StudyFolder folder(arguments.folder);
  folder.extend(arguments.seeds);
  return make_runs(folder, folder.study(), arguments.jobs);
}

}  // namespace

void add_study_extend(CommandTable& table) {
  table.add("study extend", "Give a study more seeds, and make their runs", {"folder", "--seeds"},
            study_extend_command);
}

}  // namespace surd
