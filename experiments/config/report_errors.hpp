#pragma once

#include <functional>

namespace surd {

/// Returns what `work` returns. Where it throws, prints that on standard error, and returns 2 for a ConfigError or a
/// UsageError, which the person who asked can mend, and 1 for anything else.
int report_errors(const std::function<int()>& work);

}  // namespace surd
