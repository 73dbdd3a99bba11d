#include "experiments/interop/imported_run.hpp"

#include "experiments/config/yaml_parser.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/checkpoint_metadata.hpp"
#include "experiments/run/run_folder.hpp"
#include "train/storage/checkpoint.hpp"
#include "train/storage/files.hpp"

#include <ctime>
#include <filesystem>

namespace surd {
namespace {

/// Writes all but the folder's name.
void write_files(const RunFolder& folder, const ImportedRun& run) {
  folder.create();
  for (const auto& [name, bytes] : run.vocabulary) write_file_atomically(folder.vocabulary() + "/" + name, bytes);
  TensorFileView view;
  view.metadata =
      checkpoint_metadata(run.config, TextCodec::load(folder.vocabulary(), run.config.task.make()->format()));
  view.metadata["imported_from"] = run.origin;
  for (const auto& [name, tensor] : run.parameters) {
    expect(all_finite(tensor), name, "holds a NaN or an infinity");
    view.tensors.emplace_back(name, &tensor);
  }
  write_file_atomically(folder.checkpoints() + "/best.safetensors", encode_safetensors(view));
  RunOrigin origin;
  origin.imported = true;
  origin.file = run.origin;
  std::error_code unknown;
  origin.folder = std::filesystem::current_path(unknown).string();
  origin.began = iso_time(std::time(nullptr));
  write_file_atomically(folder.origin(), to_json_text(origin));
  write_file_atomically(folder.config(), to_yaml(run.config));
  const OpenRun opened(folder.path, "best");  // what does not fit together is told now
}

}  // namespace

void expect_whole_config(const std::string& text, const std::string& where) {
  std::vector<Problem> problems;
  const YamlNode root = parse_yaml(text, {where}, problems);
  expect(root.find("extends") == nullptr, where, "extends another file; it must be whole");
}

void write_run(const std::string& named, const ImportedRun& run) {
  const std::string folder = without_end_slash(named);
  expect_usage(!RunFolder(folder).exists(), folder, "exists already; name another folder by --out");
  try {
    const bool made =
        make_whole_folder(folder, [&](const std::string& unfinished) { write_files(RunFolder(unfinished), run); });
    expect(made, folder, "was made by somebody else meanwhile; name another by --out");
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", run.origin, error.what()));
  }
}

}  // namespace surd
