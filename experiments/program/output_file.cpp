#include "experiments/program/output_file.hpp"

#include "experiments/program/usage_error.hpp"

#include <algorithm>
#include <filesystem>

namespace surd {

void expect_output_file(const std::string& option, const std::string& path, const std::vector<std::string>& endings) {
  namespace fs = std::filesystem;
  const fs::path file(path);
  const bool ending = std::find(endings.begin(), endings.end(), file.extension().string()) != endings.end();
  expect_usage(ending, option, "'{}' must end in {}", path, fmt::join(endings, " or "));
  std::error_code error;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  expect_usage(fs::is_directory(folder, error), option, "there is no folder '{}'; make it, or name another file",
               folder.string());
  expect_usage(!fs::exists(file, error) || fs::is_regular_file(file, error), option,
               "'{}' is no ordinary file; name another", path);
}

}  // namespace surd
