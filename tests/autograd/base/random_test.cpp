#include "autograd/base/random.hpp"

#include "autograd/kernels/dropout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace surd::random {
namespace {

using Words = std::array<std::uint32_t, 4>;

/// Philox4x32-10 written from the paper (Salmon et al., SC 2011, section 4.3), beside the library's.
Words philox(Words x, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = 0xD2511F53ULL * x[0], product1 = 0xCD9E8D57ULL * x[2];
    x = {static_cast<std::uint32_t>(product1 >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return x;
}

TEST_CASE("the reference Philox passes Random123's known answers") {
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

// The two keys are hashes of seed, purpose and name. Runs are reproducible across versions and machines only while they
// stay as they are.
TEST_CASE("a block is Philox of (index, step) under the key") {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  constexpr std::uint64_t key = 0x11a7c4084562931dULL, key_of_nothing = 0x33fe8bd4f9c57863ULL;
  for (const std::uint64_t index : {0ULL, 1ULL, 0x123456789abcdefULL, ~0ULL}) {
    for (const std::uint64_t step : {0ULL, 7ULL, 0xfedcba9876543210ULL}) {
      const Stream stream(1234, "init", "encoder.0.self_attention.query.weight", step);
      const Words words = philox({low(index), high(index), low(step), high(step)}, {low(key), high(key)});
      CHECK(stream.block(index) == words);
      CHECK(stream.bits(index) == (static_cast<std::uint64_t>(words[1]) << 32 | words[0]));
    }
  }
  CHECK(Stream(0, "", "").block(0) == philox({0, 0, 0, 0}, {low(key_of_nothing), high(key_of_nothing)}));
}

TEST_CASE("golden draws") {
  const Stream stream(1234, "init", "encoder.0.self_attention.query.weight");
  CHECK(stream.bits(0) == 0x7be0c212d7ef5040ULL);
  CHECK(stream.bits(1) == 0x8d5e8add4793f4bdULL);
  CHECK(Stream(1234, "init", "encoder.0.self_attention.query.weight", 5).bits(0) == 0x7000af3296e6ec46ULL);
  CHECK(stream.uniform(0) == 0x1.ef83084b5fbd6p-2);
  CHECK(stream.uniform(1) == 0x1.1abd15ba8f27fp-1);
  CHECK(stream.normal(0) == -0x1.4aba2af18f786p-5);
  CHECK(stream.normal(1) == 0x1.0cdd89084e161p-3);
  CHECK(stream.normal(2) == -0x1.52a02683a9feep-1);
  CHECK(stream.integer(0, 1000) == 483);
  CHECK(stream.integer(1, 1000) == 552);
  Sequence sequence(stream);
  std::vector<int> order(10);
  std::iota(order.begin(), order.end(), 0);
  sequence.shuffle(order);
  CHECK(order == std::vector<int>{5, 0, 8, 1, 6, 7, 3, 2, 9, 4});
}

TEST_CASE("many draws at a time are the same as one at a time") {
  const Stream stream(7, "init", "weight", 0x100000002ULL);
  constexpr std::size_t longest = 150;
  for (const std::uint64_t first : {0ULL, 5ULL, 0xfffffff8ULL, 0xfffffffffffffff0ULL}) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{63}, longest}) {
      CAPTURE(first);
      CAPTURE(count);
      std::vector<std::uint64_t> bits(longest + 1, 1);
      std::vector<double> uniform(longest + 1, -1), normal(longest + 1, -9);
      stream.bits(first, count, bits.data());
      stream.uniform(first, count, uniform.data());
      stream.normal(first, count, normal.data());
      bool same = true;
      for (std::size_t i = 0; i < count; ++i)
        same = same && bits[i] == stream.bits(first + i) && uniform[i] == stream.uniform(first + i) &&
               normal[i] == stream.normal(first + i);
      CHECK(same);
      CHECK(bits[count] == 1);
      CHECK(uniform[count] == -1);
      CHECK(normal[count] == -9);
    }
  }
}

TEST_CASE("a sequence is a stream's draws in order, and so is its copy") {
  const Stream stream(7, "data", "copy");
  const auto in_order = [&](Sequence& sequence, std::uint64_t first, std::uint64_t end) {
    bool same = true;
    for (std::uint64_t i = first; i < end; ++i)
      same = same &&
             (i % 3 == 0 ? sequence.uniform() == stream.uniform(i) : sequence.integer(1000) == stream.integer(i, 1000));
    return same;
  };
  Sequence sequence(stream);
  CHECK(in_order(sequence, 0, 21));
  Sequence copy = sequence;
  CHECK(in_order(sequence, 21, 70));
  CHECK(in_order(copy, 21, 70));
}

TEST_CASE("streams of other seeds, purposes, names and steps differ") {
  std::set<std::uint64_t> draws;
  std::size_t streams = 0;
  for (const std::uint64_t seed : {0, 1, 2})
    for (const std::string purpose : {"", "a", "b", "ab"})
      for (const std::string name : {"", "a", "b", "ba"})
        for (const std::uint64_t step : {0, 1, 2})
          for (const std::uint64_t index : {0, 1}) {
            draws.insert(Stream(seed, purpose, name, step).bits(index));
            ++streams;
          }
  CHECK(draws.size() == streams);
  // The border between purpose and name counts, and so does a zero byte.
  CHECK(Stream(1, "ab", "c").bits(0) != Stream(1, "a", "bc").bits(0));
  CHECK(Stream(1, "a", std::string("\0", 1)).bits(0) != Stream(1, "a", "").bits(0));
}

TEST_CASE("first draws of similar names do not collide and use every bit") {
  std::set<std::uint64_t> draws;
  std::array<int, 64> ones{};
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t draw = Stream(1, "init", "layer." + std::to_string(i)).bits(0);
    draws.insert(draw);
    for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(draw >> bit & 1);
  }
  CHECK(draws.size() == count);
  for (const int n : ones) CHECK(std::abs(n - count / 2) < 5 * std::sqrt(count / 4.0));
}

TEST_CASE("unit_interval never gives 0 or 1 and is symmetric") {
  CHECK(unit_interval(0) == 0x1p-53);
  CHECK(unit_interval(~0ULL) == 1 - 0x1p-53);
  CHECK(unit_interval(~0ULL) < 1);
  CHECK(unit_interval(1ULL << 63) == 0.5 + 0x1p-53);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t bits = Stream(3, "test", "symmetric").bits(i);
    CHECK_UNARY(unit_interval(~bits) == 1 - unit_interval(bits));
  }
}

TEST_CASE("normal_quantile against 40-digit values") {
  struct Known {
    double p, x;
  };
  for (const auto& [p, x] :
       std::vector<Known>{{1e-300, -37.0470962993612},  {1e-100, -21.273453560965326},  {0x1p-53, -8.209536151601387},
                          {1e-10, -6.361340902404057},  {1e-5, -4.264890793922825},     {0.001, -3.0902323061678136},
                          {0.0228, -1.99907721497177},  {0.07, -1.4757910281791706},    {0.0749, -1.4402382675279637},
                          {0.0751, -1.43882539275254},  {0.1, -1.2815515655446004},     {0.25, -0.6744897501960817},
                          {0.4, -0.2533471031357997},   {0.499, -0.002506630899571766}, {0.6, 0.2533471031357997},
                          {0.9, 1.2815515655446006},    {0.924, 1.4325027208258119},    {0.926, 1.4466320671589787},
                          {0.95, 1.6448536269514722},   {0.975, 1.9599639845400538},    {0.99, 2.3263478740408408},
                          {0.999999, 4.753424308817087}}) {
    CAPTURE(p);
    CHECK(std::fabs(normal_quantile(p) / x - 1) < 1e-15);
  }
  CHECK(normal_quantile(0.5) == 0);
  for (const double p : {0.25, 0.0625, 0x1p-20, 0x1p-53}) CHECK(normal_quantile(p) == -normal_quantile(1 - p));
}

TEST_CASE("normal_quantile rises") {
  double last = normal_quantile(1e-12);
  for (int i = 1; i < 20000; ++i) {
    const double next = normal_quantile(i / 20000.0);
    CHECK_UNARY(next > last);
    last = next;
  }
}

TEST_CASE("moments of uniform and normal draws") {
  const Stream stream(11, "test", "moments");
  constexpr int n = 200000;
  std::array<double, 5> normal{}, uniform{};
  double lag = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const double z = stream.normal(i), u = stream.uniform(i);
    for (int k = 1; k <= 4; ++k) {
      normal[static_cast<std::size_t>(k)] += std::pow(z, k) / n;
      uniform[static_cast<std::size_t>(k)] += std::pow(u, k) / n;
    }
    lag += z * stream.normal(i + 1) / n;
  }
  // Five standard errors: sqrt(E z^2k - (E z^k)^2) / sqrt(n).
  const double unit = 5 / std::sqrt(static_cast<double>(n));
  CHECK(std::fabs(normal[1]) < unit);
  CHECK(std::fabs(normal[2] - 1) < unit * std::sqrt(2.0));
  CHECK(std::fabs(normal[3]) < unit * std::sqrt(15.0));
  CHECK(std::fabs(normal[4] - 3) < unit * std::sqrt(96.0));
  CHECK(std::fabs(lag) < unit);
  CHECK(std::fabs(uniform[1] - 0.5) < unit * std::sqrt(1.0 / 12));
  CHECK(std::fabs(uniform[2] - 1.0 / 3) < unit * std::sqrt(4.0 / 45));
}

TEST_CASE("integers stay below their bound and reach every value") {
  const Stream stream(2, "test", "integer");
  for (const std::uint64_t bound : {1, 2, 3, 7, 100}) {
    std::vector<int> seen(bound);
    for (std::uint64_t i = 0; i < 100 * bound; ++i) {
      const std::uint64_t value = stream.integer(i, bound);
      REQUIRE(value < bound);
      ++seen[value];
    }
    for (const int count : seen) CHECK(std::abs(count - 100) < 6 * 10);
  }
  CHECK(stream.integer(0, ~0ULL) < ~0ULL);
}

TEST_CASE("a sequence draws a stream in order") {
  const Stream stream(5, "test", "sequence");
  Sequence sequence(stream);
  CHECK(sequence.uniform() == stream.uniform(0));
  CHECK(sequence.integer(10) == stream.integer(1, 10));
  CHECK(sequence.between(20, 29) == 20 + stream.integer(2, 10));
  CHECK(sequence.chance(0.5) == (stream.uniform(3) < 0.5));
  const std::vector<std::string> words = {"a", "b", "c"};
  CHECK(sequence.choose(words) == words[stream.integer(4, 3)]);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(sequence.between(3, 5));
  CHECK(seen == std::set<std::uint64_t>{3, 4, 5});
  for (int i = 0; i < 100; ++i) {
    CHECK_FALSE(sequence.chance(0));
    CHECK(sequence.chance(1));
  }
}

TEST_CASE("shuffle permutes, every order as likely") {
  std::vector<int> values(100);
  std::iota(values.begin(), values.end(), 0);
  Sequence sequence(Stream(8, "shuffle", "epoch"));
  std::vector<int> shuffled = values;
  sequence.shuffle(shuffled);
  CHECK(shuffled != values);
  CHECK(std::is_permutation(values.begin(), values.end(), shuffled.begin()));
  std::vector<int> counts(6);
  for (int i = 0; i < 6000; ++i) {
    std::vector<int> three = {0, 1, 2};
    sequence.shuffle(three);
    ++counts[static_cast<std::size_t>(2 * three[0] + (three[1] > three[2]))];
  }
  for (const int count : counts) CHECK(std::abs(count - 1000) < 5 * std::sqrt(6000 * 5 / 36.0));
  std::vector<int> none, single = {4};
  sequence.shuffle(none);
  sequence.shuffle(single);
  CHECK(single == std::vector<int>{4});
}

TEST_CASE("blocks are the same bits side by side as one by one") {
  for (const std::uint64_t first : {0ULL, 7ULL, 0xfffffff8ULL, 0xfffffffffffffff0ULL}) {
    const Stream stream(3, "dropout", "x", 0x100000002ULL);
    for (const std::size_t count : {0, 1, 15, 16, 17, 37, 127, 128, 129, 300}) {
      CAPTURE(first);
      CAPTURE(count);
      constexpr std::uint32_t untouched = 0x5a5a5a5a;
      std::vector<std::uint32_t> words(4 * count + 64, untouched);
      stream.blocks(first, count, words.data());
      bool same = true, within = true;
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t w = 0; w < 4; ++w) same = same && words[4 * i + w] == stream.block(first + i)[w];
      for (std::size_t i = 4 * count; i < words.size(); ++i) within = within && words[i] == untouched;
      CHECK(same);
      CHECK(within);
    }
  }
}

TEST_CASE("a dropout mask depends on an element's place alone") {
  const Stream stream(6, "dropout", "x");
  const kernels::DropoutRate rate(0.3);
  std::vector<Real> whole(2400);  // 300 blocks
  const auto mask = [&](std::uint64_t first, std::vector<Real>& values) {
    const std::vector<Real> ones(values.size(), 1);
    std::vector<std::uint8_t> kept(values.size());
    kernels::dropout({stream, first, rate}, ones.data(), values.data(), kept.data(), values.size());
    bool scaled = true;
    for (std::size_t i = 0; i < values.size(); ++i)
      scaled = scaled && values[i] == (kept[i] != 0 ? rate.keep_scale : Real(0));
    CHECK(scaled);
  };
  mask(0, whole);
  for (std::size_t first = 0; first < 40; ++first) {
    for (const std::size_t n : {0, 1, 2, 7, 8, 9, 33, 60, 127, 128, 129, 1023, 1024, 1025, 2300}) {
      CAPTURE(first);
      CAPTURE(n);
      std::vector<Real> part(n);
      mask(first, part);
      CHECK_UNARY(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)));
    }
  }
}

TEST_CASE("what is marked is dropped, and a NaN stays one") {
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  const std::vector<Real> marked = {Real(0.5), Real(-0.5), nan, 0};
  std::vector<Real> kept(marked.size());
  kernels::drop_marked(marked.data(), 2, kept.data(), kept.size());
  CHECK(kept[0] == 1);
  CHECK(kept[1] == 0);
  CHECK(std::isnan(kept[2]));
  CHECK(kept[3] == 0);
  CHECK(kernels::DropoutRate(0.999999).threshold == 65535);
  CHECK(kernels::DropoutRate(0.000001).threshold == 1);
}

TEST_CASE("a dropout mask keeps the mean, and its rate is the one asked for") {
  constexpr std::size_t n = 400000;
  const std::vector<Real> ones(n, 1);
  std::vector<Real> mask(n);
  std::vector<std::uint8_t> kept(n);
  for (const double rate : {0.0, 0.01, 0.1, 0.5, 0.9}) {
    const kernels::DropoutRate rounded(rate);
    CHECK(std::fabs(rounded.threshold / 65536.0 - rate) <= 0.5 / 65536);
    const Stream stream(7, "dropout", "rate");
    kernels::dropout({stream, 3, rounded}, ones.data(), mask.data(), kept.data(), n);
    double dropped = 0, total = 0;
    for (const Real value : mask) {
      dropped += value == 0;
      total += static_cast<double>(value);
    }
    CAPTURE(rate);
    CHECK(std::fabs(dropped / n - rate) <= 5 * std::sqrt(rate * (1 - rate) / n) + 0.5 / 65536);
    CHECK(std::fabs(total / n - 1) <= 5 * std::sqrt(rate / (1 - rate) / n) + 1e-6);
  }
}

}  // namespace
}  // namespace surd::random
