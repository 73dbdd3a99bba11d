#pragma once

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace surd {

/// While it lives, its thread takes a subnormal number for zero, as an operand and as a result: a float below 1.2e-38,
/// a double below 2.2e-308. Processors take many times as long for one, and where gradients vanish most of them are.
/// Not for what takes inverses of large numbers: of a float above 8.5e37 it is subnormal. Without SSE nothing changes.
class FlushSubnormals {
 public:
#ifdef __SSE__
  FlushSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | results | operands); }
  ~FlushSubnormals() { _mm_setcsr(before_); }
#else
  FlushSubnormals() {}
#endif
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

#ifdef __SSE__

 private:
  static constexpr unsigned results = 0x8000, operands = 0x0040;  // FTZ and DAZ of MXCSR
  unsigned before_;
#endif
};

}  // namespace surd
