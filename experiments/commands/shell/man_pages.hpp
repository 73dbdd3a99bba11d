#pragma once

#include "experiments/command_line/command.hpp"

#include <string>
#include <vector>

namespace surd {

struct ManPage {
  std::string name;  ///< of the page and its file, without the section: "surd-study-run"
  std::string text;  ///< roff with the macros of man(7), UTF-8
};

/// The manual, section 1: a page of the program, then one of each command.
std::vector<ManPage> man_pages(const CommandTable& table, const std::string& program);

}  // namespace surd
