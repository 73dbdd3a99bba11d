#include "autograd/blas.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/interop/marian_import.hpp"
#include "experiments/interop/model_file.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/usage_error.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>

namespace surd {
namespace {

struct ImportArguments {
  std::string model;
  std::string out;
  Texts settings;

  void fields(Fields& f) {
    f("model", model, "a file of surd export --format safetensors, or a folder of MarianMTModel, see docs/interop.md");
    f("out", out, "folder of the run to make", Unit{"folder"});
    f("set", settings, "a setting of its task, e.g. task.test_source=test.en, where a folder is imported",
      Unit{"key=value"});
  }
};

int import_command(const ImportArguments& arguments) {
  blas::initialize();
  expect_usage(path_exists(arguments.model), arguments.model, "is not there");
  const bool folder = is_folder(arguments.model);
  expect_usage(folder || arguments.settings.values.empty(), "--set", "is for folders; a file has the task of its run");
  write_run(arguments.out,
            folder ? marian::import_model(arguments.model, arguments.settings.values) : decode_model(arguments.model));
  fmt::print("{}\n", arguments.out);
  return exit_done;
}

}  // namespace

void add_import(CommandTable& table) {
  table.add("import", "Make a run of a model of another tool, or of an exported one", {"model", "--out"},
            import_command);
}

}  // namespace surd
