#pragma once

#include <filesystem>

/// The folders of the presets and studies that come with the program: those that SURD_PRESETS and SURD_STUDIES name,
/// else those that an installation has beside the program, else those of the source tree.
namespace surd {

std::filesystem::path presets_folder();
std::filesystem::path studies_folder();

}  // namespace surd
