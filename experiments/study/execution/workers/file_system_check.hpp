#pragma once

#include <string>
#include <vector>

namespace surd {

/// One thing that workers of a study need of the file system that they share.
struct FileSystemCheck {
  std::string name;
  bool passed = false;
  std::string finding;
};

/// Tests whether several processes can work on a study in a folder: whether of many that make the same file one does,
/// of many that give the same name to a folder one does, and how soon one sees what another has made. It makes
/// processes of this machine try; whether another machine sees the same is up to the file system. Leaves nothing
/// behind. Throws UsageError where there is no such folder, Error where it cannot be written.
std::vector<FileSystemCheck> check_file_system(const std::string& folder);

}  // namespace surd
