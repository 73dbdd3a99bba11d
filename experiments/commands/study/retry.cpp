#include "autograd/base/counted.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/execution/study_folder.hpp"

#include <fmt/format.h>

namespace surd {
namespace {

int study_retry_command(const StudyFolderArguments& arguments) {
  const StudyFolder folder(arguments.folder);
  static_cast<void>(folder.study());  // refuses what is no study
  const std::size_t count = folder.retry_failed();
  if (count == 0)
    fmt::print("no run has failed\n");
  else
    fmt::print("{} that failed will be made again by surd study work {}; what {} left is in {}/failed\n",
               counted(count, "run"), shell_word(folder.path()), count == 1 ? "it" : "they", folder.path());
  return exit_done;
}

}  // namespace

void add_study_retry(CommandTable& table) {
  table.add("study retry", "Let runs that failed be made again", {"folder"}, study_retry_command);
}

}  // namespace surd
