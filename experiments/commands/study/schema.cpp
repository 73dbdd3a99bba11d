#include "experiments/command_line/command.hpp"
#include "experiments/config/schema/file_schema.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/study/file/study_schema.hpp"

namespace surd {
namespace {

int study_schema_command() {
  fmt::print("{}", schema_text("A study of surd, or a question that several studies answer", study_schema()));
  return exit_done;
}

}  // namespace

void add_study_schema(CommandTable& table) {
  table.add("study schema", "Print the JSON Schema of a study file, for editors", study_schema_command);
}

}  // namespace surd
