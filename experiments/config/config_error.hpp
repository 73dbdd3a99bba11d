#pragma once

#include "autograd/base/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// Where a value of a config was written: at a line and column (from 1, columns in bytes) of a file, or on the command
/// line.
struct Origin {
  std::string source;    ///< the file's path, or "--set a.b=1"
  std::size_t line = 0;  ///< 0: the file as a whole, or the command line
  std::size_t column = 0;
  int layer = 0;  ///< what overrides what: 0 the file, below it the files it extends, above it each --set
};

/// One thing that is wrong with a config, and how to put it right.
struct Problem {
  Origin origin;
  std::string path;  ///< "model.embedding.init.std", or "" where it is about no key
  std::string message;

  /// "copy.yaml:3:5: model.d_modle: unknown key; did you mean 'd_model'?"
  std::string text() const;
};

/// All that is wrong with a config, a line each, in the order of the files.
class ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

/// The end of a message about a name that is none of `names`: says what may have been meant, else which there are.
std::string not_among(std::string_view name, const std::vector<std::string>& names);

/// A value as a message shows it: on one line, cut short, nothing in it that a terminal would obey.
std::string shown(std::string_view text);

}  // namespace surd
