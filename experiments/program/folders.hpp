#pragma once

#include <filesystem>

/// Where the files lie that come with the program: where SURD_PRESETS and SURD_STUDIES say, else where an installation
/// has them beside the program, else in the source tree.
namespace surd {

std::filesystem::path presets_folder();
std::filesystem::path studies_folder();

}  // namespace surd
