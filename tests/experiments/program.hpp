#pragma once

#include "tests/text.hpp"

#include <sys/wait.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

/// Runs the program as a user would, through a shell.
namespace surd::test {

struct Outcome {
  int exit_code;
  std::string output;  ///< standard output, and standard error with it unless it was redirected
};

inline Outcome shell(const std::string& command) {
  std::FILE* pipe = popen(("( " + command + " ) 2>&1").c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), count);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), output};
}

/// `surd ARGUMENTS`
inline Outcome program(const std::string& arguments) { return shell(std::string(SURD_EXECUTABLE) + " " + arguments); }

/// Settings of a parallel_text task whose splits are all these files, to stand within the braces of `task`.
inline std::string all_splits(const std::string& source, const std::string& target) {
  std::string settings;
  for (const std::string split : {"train", "valid", "test"})
    settings += ", " + split + "_source: " + source + ", " + split + "_target: " + target;
  return settings;
}

}  // namespace surd::test
