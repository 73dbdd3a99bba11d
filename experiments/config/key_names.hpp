#pragma once

#include "autograd/base/registry.hpp"

#include <string>
#include <vector>

namespace surd {

/// The keys that a choice reads in its mapping when `name` is chosen. Throws Error when there is no such name.
std::vector<std::string> keys_of(const AnyChoice& choice, const std::string& name);
/// The keys that a field list reads.
std::vector<std::string> keys_of(const std::function<void(Fields&)>& list);
/// The key that can have the word `text` for its value; for a choice the path to the key inside its mapping, such as
/// "task.name". "" where there is none.
std::string key_that_takes(const std::string& text, const std::function<void(Fields&)>& list);

}  // namespace surd
