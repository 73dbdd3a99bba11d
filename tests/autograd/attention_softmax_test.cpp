#include "autograd/kernels/attention.hpp"

#include "tests/autograd/reals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

// The softmax of attention: rows of one register, of two and of more.

namespace surd {
namespace {

using test::difference;
using test::draw;
using test::eps;
using test::exact_softmax;
using test::Longs;
using test::Reals;

constexpr std::size_t widths[] = {16, 32, 48};

TEST_CASE("softmax over a prefix of a row") {
  for (const std::size_t width : {16, 32, 48, 80}) {
    for (std::size_t visible = 0; visible <= width; ++visible) {
      CAPTURE(width);
      CAPTURE(visible);
      const Reals x = draw(visible, visible + 1, 3);
      Longs exact = visible > 0 ? exact_softmax(x) : Longs();
      exact.resize(width, 0);
      for (const Real beyond : {test::not_a_number, test::infinity, Real(1e30), Real(0)}) {
        for (const bool subtract_max : {true, false}) {
          Reals y = x;
          y.resize(width, beyond);
          y.push_back(7);  // not of the row
          kernels::softmax_prefixes(y.data(), &visible, 1, width, subtract_max);
          CHECK(difference(y, exact) < (subtract_max ? 8 : 16) * eps);
          CHECK_UNARY(std::all_of(y.begin() + static_cast<std::ptrdiff_t>(visible), y.end() - 1,
                                  [](Real v) { return v == 0; }));
          CHECK(y.back() == 7);
        }
      }
    }
  }
}

TEST_CASE("softmax of the prefixes of many rows is that of each") {
  constexpr std::size_t rows = 85;
  for (const std::size_t width : widths) {
    CAPTURE(width);
    std::vector<std::size_t> visible(rows);
    for (std::size_t r = 0; r < rows; ++r) visible[r] = (7 * r) % (width + 1);
    const Reals start = draw(rows * width, 1, 3);
    for (const bool subtract_max : {true, false}) {
      Reals together = start, alone = start;
      kernels::softmax_prefixes(together.data(), visible.data(), rows, width, subtract_max);
      for (std::size_t r = 0; r < rows; ++r)
        kernels::softmax_prefixes(alone.data() + r * width, &visible[r], 1, width, subtract_max);
      CHECK(together == alone);
    }
  }
}

TEST_CASE("the gradient of softmax behind marked dropout is that of each row") {
  constexpr std::size_t rows = 23;
  for (const std::size_t width : widths) {
    CAPTURE(width);
    const Reals marked = draw(rows * width, 1), dy = draw(rows * width, 2);  // the sign marks
    Reals together = dy, alone = dy;
    kernels::softmax_marked_backward(marked.data(), Real(1.25), together.data(), rows, width);
    for (std::size_t r = 0; r < rows; ++r)
      kernels::softmax_marked_backward(marked.data() + r * width, Real(1.25), alone.data() + r * width, 1, width);
    CHECK(together == alone);
    CHECK(together != dy);
  }
}

TEST_CASE("rows without elements are left alone") {
  const std::vector<std::size_t> visible(70, 0);
  Real nothing = 7;
  kernels::softmax_prefixes(&nothing, visible.data(), visible.size(), 0, true);
  kernels::softmax_marked_backward(&nothing, 1, &nothing, visible.size(), 0);
  CHECK(nothing == 7);
}

}  // namespace
}  // namespace surd
