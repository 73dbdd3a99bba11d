#pragma once

namespace surd {

const char* version();  ///< "0.1.0"
/// Of the source tree when it was built, with "-modified" where it differs from that commit outside docs/.
const char* git_commit();
const char* compiler();  ///< "GNU 12.2.0, Release, -march=native"

}  // namespace surd
