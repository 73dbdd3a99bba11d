#include "experiments/commands/command.hpp"
#include "experiments/config/yaml_document.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/folders.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/file/claims.hpp"
#include "train/storage/files.hpp"

#include <filesystem>

namespace surd {
namespace {

namespace fs = std::filesystem;

int study_list_command() {
  const std::string folder = studies_folder().string();
  std::size_t studies = 0;
  for (const std::string& name : names_in(folder)) {
    if (fs::path(name).extension() != ".yaml" || name == claims_file) continue;
    ++studies;
    const YamlDocument document = YamlDocument::load(fs::path(folder) / name);
    const YamlNode* title = document.root().find("title");
    if (title == nullptr) title = document.root().find("question");
    fmt::print(
        "{}", wrapped(title == nullptr ? "(no title)" : title->text,
                      fmt::format("{:<24}", fs::path(name).stem().string() + " "), std::string(24, ' '), screen_width));
  }
  if (studies == 0)
    fmt::print("there are no studies in {}\n", folder);
  else
    fmt::print("\nRun one by: surd study run {}/NAME.yaml\n", folder);
  return exit_done;
}

}  // namespace

void add_study_list(CommandTable& table) {
  table.add("study list", "The studies that come with the program", study_list_command);
}

}  // namespace surd
