#include "autograd/kernels/dropout.hpp"

#include "autograd/kernels/attention.hpp"

#include "tests/autograd/reals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

// Dropout and what goes with it against plain loops in double precision, for ranges within a stretch of random blocks
// and across several.

namespace surd {
namespace {

using test::draw;
using test::eps;
using test::Reals;

constexpr std::size_t counts[] = {0, 1, 7, 8, 9, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 2500};
constexpr std::uint64_t firsts[] = {0, 1, 7, 8, 121, 1019, 0x7fffffffcULL};

/// Whether element i stays: eight elements share a block, two a word, the one of the lower half first.
bool stays(const kernels::DropoutDraws& draws, std::uint64_t i) {
  const std::uint64_t element = draws.first + i;
  const std::uint32_t word = draws.stream.block(element / 8)[element % 8 / 2];
  return (element % 2 == 0 ? word & 0xffff : word >> 16) >= draws.rate.threshold;
}

double scale_of(const kernels::DropoutRate& rate) { return 1 / (1 - rate.threshold / 65536.0); }

bool near(Real value, double exact) {
  return std::fabs(static_cast<double>(value) - exact) <= 2 * eps * std::max(1.0, std::fabs(exact));
}

/// Calls check(draws, n) for every range, and rates of all kinds.
template <class Check>
void for_ranges(Check check) {
  const random::Stream stream(4, "dropout", "kernels", 9);
  for (const double rate : {0.0, 0.1, 0.5, 0.9}) {
    for (const std::uint64_t first : firsts) {
      for (const std::size_t n : counts) {
        CAPTURE(rate);
        CAPTURE(first);
        CAPTURE(n);
        check(kernels::DropoutDraws{stream, first, kernels::DropoutRate(rate)}, n);
      }
    }
  }
}

TEST_CASE("dropout and its gradient") {
  for_ranges([](const kernels::DropoutDraws& draws, std::size_t n) {
    const Reals x = draw(n, 1), dy = draw(n, 2);
    const double scale = scale_of(draws.rate);
    Reals y(n), dx(n), in_place = x;
    std::vector<std::uint8_t> kept(n, 9);
    kernels::dropout(draws, x.data(), y.data(), kept.data(), n);
    kernels::dropout_backward(kept.data(), draws.rate.keep_scale, dy.data(), dx.data(), n);
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
      const bool stay = stays(draws, i);
      right = right && kept[i] == (stay ? 1 : 0) && near(y[i], stay ? scale * static_cast<double>(x[i]) : 0) &&
              near(dx[i], stay ? scale * static_cast<double>(dy[i]) : 0);
    }
    CHECK(right);
    kernels::dropout(draws, in_place.data(), in_place.data(), kept.data(), n);
    CHECK_UNARY(in_place == y);
  });
}

TEST_CASE("add_dropout") {
  for_ranges([](const kernels::DropoutDraws& draws, std::size_t n) {
    const Reals a = draw(n, 1), x = draw(n, 2);
    const double scale = scale_of(draws.rate);
    Reals y(n), in_a = a, in_x = x;
    std::vector<std::uint8_t> kept(n, 9);
    kernels::add_dropout(draws, a.data(), x.data(), y.data(), kept.data(), n);
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
      const bool stay = stays(draws, i);
      const auto before = static_cast<double>(a[i]), added = stay ? scale * static_cast<double>(x[i]) : 0;
      // Rounded in the product and in the sum, or once.
      const double bound = 2 * eps * (std::fabs(before) + std::fabs(added));
      right = right && kept[i] == (stay ? 1 : 0) && std::fabs(static_cast<double>(y[i]) - (before + added)) <= bound;
    }
    CHECK(right);
    kernels::add_dropout(draws, in_a.data(), x.data(), in_a.data(), kept.data(), n);
    kernels::add_dropout(draws, a.data(), in_x.data(), in_x.data(), kept.data(), n);
    CHECK_UNARY(in_a == y);
    CHECK_UNARY(in_x == y);
  });
}

TEST_CASE("mark_dropped gives what is dropped a minus sign, and drop_marked drops it") {
  for_ranges([](const kernels::DropoutDraws& draws, std::size_t n) {
    Reals x = draw(n, 1);
    for (std::size_t i = 0; i < n; ++i) x[i] = i % 5 == 0 ? Real(0) : std::fabs(x[i]);
    Reals marked = x, y(n);
    kernels::mark_dropped(draws, marked.data(), n);
    kernels::drop_marked(marked.data(), draws.rate.keep_scale, y.data(), n);
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
      const bool stay = stays(draws, i);
      right = right && std::fabs(marked[i]) == x[i] && (x[i] == 0 || std::signbit(marked[i]) != stay) &&
              near(y[i], stay ? scale_of(draws.rate) * static_cast<double>(x[i]) : 0);
    }
    CHECK(right);
  });
}

TEST_CASE("the gradient of softmax behind marked dropout") {
  const random::Stream stream(4, "dropout", "softmax");
  for (const double rate : {0.1, 0.5}) {
    for (std::size_t width = 16; width <= 96; width += 16) {
      for (const std::size_t visible : {std::size_t{0}, std::size_t{1}, width / 2 + 3, width}) {
        CAPTURE(rate);
        CAPTURE(width);
        CAPTURE(visible);
        const kernels::DropoutDraws draws{stream, 13, kernels::DropoutRate(rate)};
        Reals marked = draw(width, 1), dx = draw(width, 2);
        kernels::softmax_prefixes(marked.data(), &visible, 1, width, true);
        const Reals y = marked, dy = dx;
        kernels::mark_dropped(draws, marked.data(), width);
        kernels::softmax_marked_backward(marked.data(), draws.rate.keep_scale, dx.data(), 1, width);

        std::vector<double> dz(width);
        double inner = 0;
        for (std::size_t i = 0; i < width; ++i) {
          dz[i] = stays(draws, i) ? scale_of(draws.rate) * static_cast<double>(dy[i]) : 0;
          inner += dz[i] * static_cast<double>(y[i]);
        }
        double worst = 0;
        for (std::size_t i = 0; i < width; ++i) {
          const double exact = static_cast<double>(y[i]) * (dz[i] - inner);
          worst = std::max(worst, std::fabs(static_cast<double>(dx[i]) - exact));
        }
        CHECK(worst < 40 * eps);
      }
    }
  }
}

}  // namespace
}  // namespace surd
