#pragma once

#include <cstddef>
#include <string_view>

namespace surd {

/// What people say about the factors, by the number that studies refer to; "" where there is no such claim.
std::string_view claim_text(std::size_t claim);

}  // namespace surd
