#pragma once

namespace surd::test {

/// Whether to leave out tests that train for long: a sanitizer would take half an hour for each, and sees the same code
/// in shorter ones.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool no_long_training = true;
#else
inline constexpr bool no_long_training = false;
#endif

}  // namespace surd::test
