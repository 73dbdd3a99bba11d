#include "autograd/base/scoped.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using namespace surd;

TEST_CASE("a place holds what it held before again, also where something is thrown") {
  std::string place = "before";
  try {
    const Scoped outer(place, std::string("outer"));
    const Scoped inner(place, place + ".inner");
    CHECK(place == "outer.inner");
    throw std::runtime_error("out of both");
  } catch (const std::runtime_error&) {
    CHECK(place == "before");
  }
}
