#include "experiments/command_line/command.hpp"
#include "experiments/config/describe_options.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/study/file/study_fields.hpp"

namespace surd {
namespace {

int study_reference_command() {
  fmt::print("{}", reference_markdown(describe_options<StudyFields>()));
  return exit_done;
}

}  // namespace

void add_study_reference(CommandTable& table) {
  table.add("study reference", "Print every key of a study file", study_reference_command);
}

}  // namespace surd
