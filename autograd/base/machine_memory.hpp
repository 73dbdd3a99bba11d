#pragma once

#include <unistd.h>

namespace surd {

/// Bytes of memory that this machine has.
inline double machine_memory_bytes() {
  static const double bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return bytes;
}

}  // namespace surd
