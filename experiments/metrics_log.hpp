#pragma once

#include "train/probe.hpp"
#include "train/train.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace surd {

/// A file of JSON lines that a resumed run cuts back to where its checkpoint stood. It holds nothing that depends on
/// time or machine, so that equal runs write equal bytes; docs/run-folder.md documents the fields.
class JsonLines {
 public:
  /// Opens for appending, after cutting the file to its first `position` bytes. Throws Error with the system's reason,
  /// or when the file is shorter than that.
  JsonLines(const std::string& path, std::uint64_t position);

  /// Writes one line, without its newline. Throws Error when it cannot be written.
  void write(const std::string& line);
  /// Bytes written so far, synced to the disk.
  std::uint64_t position();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

std::string to_json_line(const UpdateRecord& record);
std::string to_json_line(std::uint64_t update, const Evaluation& evaluation, bool best);
std::string to_json_line(std::uint64_t update, const Probe::Record& record);

}  // namespace surd
