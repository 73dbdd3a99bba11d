#include "autograd/blas.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/export/csv.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/interop/causal_export.hpp"
#include "experiments/interop/marian_export.hpp"
#include "experiments/interop/model_file.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/output_file.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

namespace surd {
namespace {

enum class ExportFormat { safetensors, marian, gpt2, llama, csv };
std::vector<std::string> names_of(ExportFormat) { return {"safetensors", "marian", "gpt2", "llama", "csv"}; }

struct ExportArguments : RunArguments {
  ExportFormat format = ExportFormat::safetensors;
  std::string out;

  void fields(Fields& f) {
    RunArguments::fields(f);
    f("format", format,
      "safetensors: one file with the parameters, the config and the vocabularies; marian: a folder for MarianMTModel "
      "and MarianTokenizer of transformers (docs/interop.md); gpt2, llama: a folder for AutoModelForCausalLM, of a "
      "decoder alone; csv: the numbers of metrics.jsonl, a row a logged update");
    f("out", out, "the file or the folder to write [csv: standard output]", Unit{"path"});
    f.rule(format == ExportFormat::csv || !out.empty(), "out", "must be given; only csv goes to standard output");
    f.rule(format != ExportFormat::csv || checkpoint == "best", "checkpoint", "is of a model; csv takes the run's log");
  }
};

/// The folder appears with all of its files.
void write_folder(const std::string& named, const std::map<std::string, std::string>& files) {
  const std::string folder = without_end_slash(named);
  const bool made = make_whole_folder(folder, [&](const std::string& unfinished) {
    for (const auto& [name, bytes] : files) write_file_atomically(unfinished + "/" + name, bytes);
  });
  expect(made, folder, "was made by somebody else meanwhile; name another by --out");
  for (const auto& [name, bytes] : files) fmt::print("{}/{}\n", folder, name);
}

int export_command(const ExportArguments& arguments) {
  if (arguments.format == ExportFormat::csv) return export_csv(arguments.run, arguments.out);
  expect_usage(!path_exists(arguments.out), "--out", "'{}' is there already; name another", arguments.out);
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  if (arguments.format == ExportFormat::marian) {
    const auto files = marian::export_model(run);
    write_folder(arguments.out, files);
    if (files.count("source.spm") == 0)
      to_stderr(
          "note: the run's tokenizer is not SentencePiece, which MarianTokenizer needs: the folder has the model and "
          "vocab.json alone\n");
    if (run.config.task.make()->format().lowercase)
      to_stderr("note: MarianTokenizer does not put text into lower case, as this run does; do that before\n");
    return exit_done;
  }
  if (arguments.format == ExportFormat::gpt2 || arguments.format == ExportFormat::llama) {
    write_folder(arguments.out, arguments.format == ExportFormat::gpt2 ? export_gpt2(run) : export_llama(run));
    return exit_done;
  }
  expect_output_file("--out", arguments.out, {".safetensors"});
  write_file_atomically(arguments.out, encode_model(run));
  fmt::print("{}\n", arguments.out);
  return exit_done;
}

}  // namespace

void add_export(CommandTable& table) {
  table.add("export", "Write a run's model or log for other tools", {"run", "--format"}, export_command);
}

}  // namespace surd
