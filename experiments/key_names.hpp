#pragma once

#include "autograd/registry.hpp"

#include <string>
#include <vector>

namespace surd {

/// The keys that a choice reads in its mapping when `name` is chosen. Throws Error when there is no such name.
std::vector<std::string> keys_of(const AnyChoice& choice, const std::string& name);

}  // namespace surd
