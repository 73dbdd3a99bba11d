#pragma once

#include <string>

namespace surd {

/// All bytes of a file. Throws Error with the system's reason.
std::string read_file(const std::string& path);

/// Replaces a file so that a reader, or a machine that loses power, sees the old content or the new, never a mixture:
/// writes a temporary file beside it, syncs it, renames it and syncs the folder. Throws Error with the system's reason;
/// the old file is then as it was.
void write_file_atomically(const std::string& path, const std::string& bytes);

}  // namespace surd
