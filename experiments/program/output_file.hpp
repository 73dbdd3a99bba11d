#pragma once

#include <string>
#include <vector>

namespace surd {

/// Throws UsageError, naming the option, where a file cannot be written or must not be replaced: its name has none of
/// the endings (".html"), its folder is not there, or what stands in its place is no ordinary file.
void expect_output_file(const std::string& option, const std::string& path, const std::vector<std::string>& endings);

}  // namespace surd
