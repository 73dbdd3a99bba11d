#include "autograd/base/random.hpp"

#include <Random123/philox.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

// This file is compiled with -ffp-contract=off (see autograd/CMakeLists.txt): a fused multiply-add would change the
// last bit of a draw from one machine to the next.

namespace surd::random {
namespace {

/// SplitMix64's finaliser (Steele et al., OOPSLA 2014): every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// FNV-1a over the bytes, then mixed; `state` chains several strings.
std::uint64_t hash(std::uint64_t state, std::string_view text) {
  for (const unsigned char byte : text) state = (state ^ byte) * 0x100000001b3ULL;
  return mix(state ^ text.size());
}

double polynomial(double x, const double (&coefficients)[8]) {
  double sum = coefficients[7];
  for (int i = 6; i >= 0; --i) sum = sum * x + coefficients[i];
  return sum;
}

/// Whether p = 1/2 + q is in the inner one of the three intervals of AS 241, routine PPND16.
bool is_central(double q) { return std::fabs(q) <= 0.425; }

/// The standard normal's quantile at 1/2 + q there: a ratio of polynomials, as on each of the three.
double central_quantile(double q) {
  static constexpr double a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                  1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                  3.3430575583588128105e4, 2.5090809287301226727e3};
  static constexpr double b[8] = {1.0,
                                  4.2313330701600911252e1,
                                  6.8718700749205790830e2,
                                  5.3941960214247511077e3,
                                  2.1213794301586595867e4,
                                  3.9307895800092710610e4,
                                  2.8729085735721942674e4,
                                  5.2264952788528545610e3};
  const double r = 0.180625 - q * q;
  return q * polynomial(r, a) / polynomial(r, b);
}

/// Natural logarithm of x > 0: x = m 2^e with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m - 1) / (m + 1)) by its
/// power series. The standard library's log differs between implementations in the last bit.
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  const double t = (m - 1) / (m + 1);
  const double t2 = t * t;
  double series = 0;
  for (int k = 23; k >= 1; k -= 2) series = series * t2 + 1.0 / k;
  return 2 * t * series + exponent * 0.69314718055994530942;
}

// Philox4x32-10 on several counters side by side. A register holds one word of each counter in the lower half of a
// 64-bit lane, where the processor's 32 x 32 bit products want it; what stands in the upper half is ignored.

#if defined(__AVX512F__)
using Words = __m512i;
Words all(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
Words counting(std::uint64_t x) { return _mm512_add_epi64(all(x), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0)); }
Words sum(Words x, Words y) { return _mm512_add_epi64(x, y); }
Words exclusive_or(Words x, Words y, Words z) { return _mm512_ternarylogic_epi64(x, y, z, 0x96); }
Words product(Words x, Words y) { return _mm512_mul_epu32(x, y); }
Words upper(Words x) { return _mm512_srli_epi64(x, 32); }
Words joined(Words low, Words high) { return _mm512_mask_blend_epi32(0xAAAA, low, _mm512_slli_epi64(high, 32)); }
#elif defined(__AVX2__)
using Words = __m256i;
Words all(std::uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
Words counting(std::uint64_t x) { return _mm256_add_epi64(all(x), _mm256_set_epi64x(3, 2, 1, 0)); }
Words sum(Words x, Words y) { return _mm256_add_epi64(x, y); }
Words exclusive_or(Words x, Words y, Words z) { return _mm256_xor_si256(_mm256_xor_si256(x, y), z); }
Words product(Words x, Words y) { return _mm256_mul_epu32(x, y); }
Words upper(Words x) { return _mm256_srli_epi64(x, 32); }
Words joined(Words low, Words high) { return _mm256_blend_epi32(low, _mm256_slli_epi64(high, 32), 0xAA); }
#else
using Words = std::uint64_t;
Words all(std::uint64_t x) { return x; }
Words counting(std::uint64_t x) { return x; }
Words sum(Words x, Words y) { return x + y; }
Words exclusive_or(Words x, Words y, Words z) { return x ^ y ^ z; }
Words product(Words x, Words y) { return (x & 0xffffffff) * (y & 0xffffffff); }
Words upper(Words x) { return x >> 32; }
Words joined(Words low, Words high) { return (low & 0xffffffff) | (high << 32); }
#endif

constexpr std::size_t counters_a_register = sizeof(Words) / sizeof(std::uint64_t);
constexpr std::size_t registers = 4;  // a round waits for the one before it: other registers fill the time
constexpr std::size_t counters_at_once = registers * counters_a_register;

/// Word w of the i-th of some blocks is the lower half of the i-th lane of word[w].
struct Blocks {
  Words word[4][registers];
};

/// The blocks first, first + 1, ...
Blocks philox(std::uint64_t key, std::uint64_t first, std::uint64_t step) {
  Blocks c;  // first their counters
  for (std::size_t r = 0; r < registers; ++r) {
    c.word[0][r] = counting(first + r * counters_a_register);
    c.word[1][r] = upper(c.word[0][r]);
    c.word[2][r] = all(step);
    c.word[3][r] = all(step >> 32);
  }
  Words key0 = all(key), key1 = all(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t r = 0; r < registers; ++r) {
      const Words product0 = product(c.word[0][r], all(0xD2511F53)), product1 = product(c.word[2][r], all(0xCD9E8D57));
      c.word[0][r] = exclusive_or(upper(product1), c.word[1][r], key0);
      c.word[2][r] = exclusive_or(upper(product0), c.word[3][r], key1);
      c.word[1][r] = product1;
      c.word[3][r] = product0;
    }
    key0 = sum(key0, all(0x9E3779B9));
    key1 = sum(key1, all(0xBB67AE85));
  }
  return c;
}

/// Calls part(offset, length) for parts of at most `longest`.
template <class Part>
void in_parts(std::size_t count, std::size_t longest, Part part) {
  for (std::size_t i = 0; i < count; i += longest) part(i, std::min(longest, count - i));
}

/// An integer in [0, bound) from 64 random bits.
std::uint64_t below(std::uint64_t bound, std::uint64_t bits) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits) * bound) >> 64);
}

}  // namespace

Stream::Stream(std::uint64_t seed, std::string_view purpose, std::string_view name, std::uint64_t step)
    : key_(hash(hash(mix(seed ^ 0x9e3779b97f4a7c15ULL), purpose), name)), step_(step) {}

std::array<std::uint32_t, 4> Stream::block(std::uint64_t index) const {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const r123::Philox4x32::ctr_type counter = {{low(index), high(index), low(step_), high(step_)}};
  const r123::Philox4x32::key_type key = {{low(key_), high(key_)}};
  const auto out = r123::Philox4x32()(counter, key);
  return {out[0], out[1], out[2], out[3]};
}

void Stream::blocks(std::uint64_t first, std::size_t count, std::uint32_t* words) const {
  in_parts(count, counters_at_once, [&](std::size_t begin, std::size_t length) {
    const Blocks drawn = philox(key_, first + begin, step_);
    Words halves[2][registers];  // of the blocks; of a pair of words the first is the lower one
    for (std::size_t r = 0; r < registers; ++r)
      for (std::size_t h = 0; h < 2; ++h) halves[h][r] = joined(drawn.word[2 * h][r], drawn.word[2 * h + 1][r]);
    std::uint64_t half[2][counters_at_once], blocks[counters_at_once][2];
    std::memcpy(half, halves, sizeof half);
    for (std::size_t i = 0; i < counters_at_once; ++i)
      for (std::size_t h = 0; h < 2; ++h) blocks[i][h] = half[h][i];
    std::memcpy(words + 4 * begin, blocks, length * sizeof blocks[0]);
  });
}

std::uint64_t Stream::bits(std::uint64_t index) const {
  const auto words = block(index);
  return (static_cast<std::uint64_t>(words[1]) << 32) | words[0];
}

void Stream::bits(std::uint64_t first, std::size_t count, std::uint64_t* to) const {
  in_parts(count, counters_at_once, [&](std::size_t begin, std::size_t length) {
    const Blocks drawn = philox(key_, first + begin, step_);
    Words draws[registers];
    for (std::size_t r = 0; r < registers; ++r) draws[r] = joined(drawn.word[0][r], drawn.word[1][r]);
    std::memcpy(to + begin, draws, length * sizeof *to);
  });
}

double Stream::uniform(std::uint64_t index) const { return unit_interval(bits(index)); }

void Stream::uniform(std::uint64_t first, std::size_t count, double* to) const {
  std::uint64_t draws[64];
  in_parts(count, std::size(draws), [&](std::size_t begin, std::size_t length) {
    bits(first + begin, length, draws);
    for (std::size_t i = 0; i < length; ++i) to[begin + i] = unit_interval(draws[i]);
  });
}

double Stream::normal(std::uint64_t index) const { return normal_quantile(uniform(index)); }

void Stream::normal(std::uint64_t first, std::size_t count, double* to) const {
  double p[64];
  in_parts(count, std::size(p), [&](std::size_t begin, std::size_t length) {
    uniform(first + begin, length, p);
    for (std::size_t i = 0; i < length; ++i) to[begin + i] = central_quantile(p[i] - 0.5);  // several at a time
    for (std::size_t i = 0; i < length; ++i)
      if (!is_central(p[i] - 0.5)) to[begin + i] = normal_quantile(p[i]);
  });
}

std::uint64_t Stream::integer(std::uint64_t index, std::uint64_t bound) const { return below(bound, bits(index)); }

std::uint64_t Sequence::bits() {
  const std::size_t place = next_ % ahead_.size();
  if (place == 0) stream_.bits(next_, ahead_.size(), ahead_.data());
  ++next_;
  return ahead_[place];
}

double Sequence::uniform() { return unit_interval(bits()); }

std::uint64_t Sequence::integer(std::uint64_t bound) { return below(bound, bits()); }

double unit_interval(std::uint64_t bits) {
  // 52 bits and a half are 53, which a double holds exactly; with one bit more the largest midpoint would round to 1.
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1.0p-52;
}

double normal_quantile(double p) {
  // Coefficients of AS 241, routine PPND16, on the two outer intervals.
  static constexpr double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                  3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double d[8] = {1.0,
                                  2.05319162663775882187e0,
                                  1.67638483018380384940e0,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
  static constexpr double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                  2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                  2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double f[8] = {1.0,
                                  5.99832206555887937690e-1,
                                  1.36929880922735805310e-1,
                                  1.48753612908506148525e-2,
                                  7.86869131145613259100e-4,
                                  1.84631831751005468180e-5,
                                  1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (is_central(q)) return central_quantile(q);
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1 - p));
  const double tail =
      r <= 5 ? polynomial(r - 1.6, c) / polynomial(r - 1.6, d) : polynomial(r - 5, e) / polynomial(r - 5, f);
  return q < 0 ? -tail : tail;
}

}  // namespace surd::random
