#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace surd {

/// In the folder of a study: what it was begun with, and where the copies of the files that its base extends lie.
std::string study_json_file(const std::string& folder);
std::string base_folder(const std::string& folder);
std::string base_copy(const std::string& folder, std::size_t i);

/// What to do where study.json is not what it was.
inline constexpr const char* damaged_study_json = "it was changed or damaged; begin the study again in another folder";

inline constexpr std::size_t current_layout = 2;

/// What study.json says of a study that was begun.
struct Beginning {
  std::string file;  ///< the study file itself
  std::vector<std::string> settings;
  bool quick = false, keep_checkpoints = false;
  std::size_t base_files = 0;
  std::string hash;                      ///< of study.yaml
  std::vector<std::string> base_hashes;  ///< of the copies that the base extends; none in a folder of surd 0.1.0
  std::vector<std::string> reuse;
  std::vector<std::vector<std::uint64_t>> more_seeds;
  std::size_t retries = 0;
  std::size_t layout = 1;  ///< of the folder's runs: 1, those of surd 0.1.0, or current_layout
};

/// Throws Error where study.json does not hold what it should.
Beginning read_beginning(const std::string& folder);
/// Writes study.json where there is none yet; false where there is. Throws Error where it cannot be written.
bool begin_study(const std::string& folder, const Beginning& begun);
/// Replaces it. Throws Error where it cannot be written.
void write_beginning(const std::string& folder, Beginning begun);

}  // namespace surd
