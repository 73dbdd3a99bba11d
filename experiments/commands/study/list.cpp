#include "experiments/command_line/command.hpp"
#include "experiments/config/yaml_document.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/folders.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/study/file/study_group.hpp"

#include <algorithm>
#include <filesystem>

namespace surd {
namespace {

namespace fs = std::filesystem;

int study_list_command() {
  const fs::path folder = studies_folder();
  const std::vector<std::string> studies = study_names(folder);
  std::size_t width = 0;
  for (const std::string& name : studies) width = std::max(width, name.size() + 1);
  for (const std::string& name : studies) {
    const YamlDocument document = YamlDocument::load(folder / (name + ".yaml"));
    const YamlNode* title = document.root().find("title");
    if (title == nullptr) title = document.root().find("question");
    fmt::print("{}", wrapped(title == nullptr ? "(no title)" : title->text, fmt::format("{:<{}}", name, width),
                             std::string(width, ' '), screen_width));
  }
  if (studies.empty())
    fmt::print("there are no studies in {}\n", folder.string());
  else
    fmt::print("\nRun one by: surd study run {}\n", shell_word((folder / "NAME.yaml").string()));
  return exit_done;
}

}  // namespace

void add_study_list(CommandTable& table) {
  table.add("study list", "The studies that come with the program", study_list_command);
}

}  // namespace surd
