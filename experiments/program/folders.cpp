#include "experiments/program/folders.hpp"

#include <cstdlib>
#include <system_error>

namespace surd {
namespace {

namespace fs = std::filesystem;

fs::path folder(const char* variable, const char* name) {
  if (const char* chosen = std::getenv(variable); chosen != nullptr) return chosen;
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed = program.parent_path().parent_path() / "share" / "surd" / name;
  return fs::is_directory(installed, ignored) ? installed : fs::path(SURD_EXPERIMENTS_FOLDER) / name;
}

}  // namespace

fs::path presets_folder() { return folder("SURD_PRESETS", "presets"); }
fs::path studies_folder() { return folder("SURD_STUDIES", "studies"); }

}  // namespace surd
