#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace surd {

/// Stands in the folder of the studies and is none.
inline constexpr const char* claims_file = "claims.yaml";

/// What people say about the factors, by the number that studies refer to. Throws ConfigError where the file cannot be
/// read or something is wrong in it.
std::map<std::size_t, std::string> read_claims(const std::filesystem::path& file);

/// A claim of the file that comes with the studies, which is read when it is first asked for; "" where there is no such
/// claim. Throws as read_claims.
std::string_view claim_text(std::size_t claim);

}  // namespace surd
