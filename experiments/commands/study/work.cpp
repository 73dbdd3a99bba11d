#include "experiments/commands/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/study/execution/worker.hpp"

namespace surd {
namespace {

int study_work_command(const StudyFolderArguments& arguments) {
  const StudyFolder folder(arguments.folder);
  const Study study = folder.study();
  Console console;
  const StopSignals signals;
  const bool complete = work_on(
      folder, study, signals,
      [&](const std::string& id, RunResult::Status status, const std::string& message, const std::string& reused_from) {
        console.line(fmt::format("{:<9} {}", name_of(status), id));
        if (!reused_from.empty()) console.line("          reused from " + reused_from);
        if (!message.empty()) console.line("          " + message.substr(0, message.find('\n')));
      });
  if (!complete) return 128 + signals.received();
  console.line(
      fmt::format("every run of the study has ended; surd study report {} writes what they say", arguments.folder));
  return exit_done;
}

}  // namespace

void add_study_work(CommandTable& table) {
  table.add("study work", "One more worker for a study", {"folder"}, study_work_command);
}

}  // namespace surd
