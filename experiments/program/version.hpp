#pragma once

namespace surd {

const char* version();     ///< "0.1.0"
const char* git_commit();  ///< of the source tree when it was built, with "-modified" where it differs from that commit
const char* compiler();    ///< "GNU 12.2.0, Release, -march=native"

}  // namespace surd
