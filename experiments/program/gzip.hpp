#pragma once

#include <string>
#include <string_view>

namespace surd {

/// A gzip file of these bytes, of one member: equal bytes give equal files. Throws Error for 4 GiB and more.
std::string gzip(std::string_view bytes);
/// The bytes of a gzip file. Throws Error, with the file's name, where it is damaged.
std::string gunzip(std::string_view file, const std::string& name);

}  // namespace surd
