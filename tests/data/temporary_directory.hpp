#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace surd::test {

/// A fresh directory that is removed with all it holds at the end of the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    static int count = 0;
    const auto name = "surd_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++);
    path_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directory(path_);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string path() const { return path_.string(); }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path(name);
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace surd::test
