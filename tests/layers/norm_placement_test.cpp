#include "layers/decoder.hpp"
#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>

// Names that lie are a known disease: these tests pin where the norm stands, with a norm computed here by hand.

namespace surd {
namespace {

using test::Bench;
using test::largest_difference;
using test::random_tensor;
using test::rounding;

constexpr std::size_t d = 16;
const Shape shape{2, 3, d};

NormPlacementOptions placed(NormPlacement placement) {
  NormPlacementOptions options;
  options.placement = placement;
  return options;
}

/// (x - mean) / sqrt(variance + 1e-5) of each row.
Tensor normalized(const Tensor& x) {
  Tensor y = x;
  for (std::size_t r = 0; r < row_count(x); ++r) {
    Real* row = y.data() + r * d;
    double mean = 0, variance = 0;
    for (std::size_t j = 0; j < d; ++j) mean += static_cast<double>(row[j]) / d;
    for (std::size_t j = 0; j < d; ++j) variance += std::pow(static_cast<double>(row[j]) - mean, 2) / d;
    for (std::size_t j = 0; j < d; ++j)
      row[j] = static_cast<Real>((static_cast<double>(row[j]) - mean) / std::sqrt(variance + 1e-5));
  }
  return y;
}

/// a + factor b
Tensor plus(const Tensor& a, const Tensor& b, Real factor = 1) {
  Tensor y = a;
  for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] += factor * b.data()[i];
  return y;
}

/// Largest deviation of a row's mean from 0 and variance from 1.
double standardness(const Tensor& x) {
  double worst = 0;
  for (std::size_t r = 0; r < row_count(x); ++r) {
    double mean = 0, square = 0;
    for (std::size_t j = 0; j < d; ++j) {
      const auto value = static_cast<double>(x.data()[r * d + j]);
      mean += value / d;
      square += value * value / d;
    }
    worst = std::max({worst, std::fabs(mean), std::fabs(square - mean * mean - 1)});
  }
  return worst;
}

/// x / sqrt(mean(x^2) + epsilon) of each row.
Tensor over_rms(const Tensor& x, double epsilon) {
  Tensor y = x;
  for (std::size_t r = 0; r < row_count(x); ++r) {
    double square = epsilon;
    for (std::size_t j = 0; j < d; ++j) square += std::pow(static_cast<double>(x.data()[r * d + j]), 2) / d;
    for (std::size_t j = 0; j < d; ++j) y.data()[r * d + j] /= static_cast<Real>(std::sqrt(square));
  }
  return y;
}

TEST_CASE("every norm starts as what its name says") {
  const Tensor x = random_tensor(shape, 4);
  const auto result = [&](const char* kind) {
    Bench bench;
    const auto norm = NormChoice(norms(), kind).make(bench.scope / "norm", d);
    Tape tape;
    return (*norm)(tape.input(x)).value();
  };
  CHECK(largest_difference(result("layer_norm"), normalized(x)) < 10 * rounding);
  CHECK(largest_difference(result("rms_norm"), over_rms(x, 1e-5)) < 10 * rounding);
  CHECK(largest_difference(result("scale_norm"), over_rms(x, 1e-5)) < 10 * rounding);  // rows of norm sqrt(d)

  NormOptions options;
  options.epsilon = 0.5;
  Bench bench;
  const ScaleNorm norm(bench.scope / "norm", d, options);
  CHECK(bench.parameters.find("norm.scale").value.data()[0] == 4);  // g = sqrt(16), as the paper has it
  bench.parameters.find("norm.scale").value.data()[0] = 12;
  Tape tape;
  CHECK(largest_difference(norm(tape.input(x)).value(), plus(zeros(shape), over_rms(x, 0.5), 3)) < 10 * rounding);
}

TEST_CASE("a residual is x + f(norm(x)) or norm(x + f(x))") {
  const Tensor x = random_tensor(shape);
  const auto f = [](Variable y) { return scale(y, 3); };
  const auto result = [&](NormPlacement placement) {
    Bench bench;
    const Residual residual(bench.scope, d, placed(placement), 0);
    Tape tape;
    return residual(tape.input(x), f).value();
  };
  CHECK(largest_difference(result(NormPlacement::pre), plus(x, normalized(x), 3)) < 10 * rounding);
  CHECK(largest_difference(result(NormPlacement::post), normalized(plus(x, x, 3))) < 10 * rounding);
}

/// Blocks whose scope is "block", and their parts once more on their own: built under the same names they draw the same
/// parameters.
struct Parts {
  NormPlacementOptions norm;
  AttentionChoice attention = test::attention({});
  FeedForwardChoice feed_forward = test::feed_forward({12});
  Bench bench, again;
  Scope block = bench.scope / "block", parts = again.scope / "block";

  explicit Parts(NormPlacement placement) : norm(placed(placement)) {}
  BlockArguments options() const { return {d, 4, 0, norm, attention, feed_forward}; }

  /// What attention and feed-forward make of y.
  Tensor self_attention(const Tensor& y, const AttentionMask& mask) {
    const auto layer =
        attention.make(parts / "self_attention", AttentionPlace{d, 4, AttentionRole::encoder_self, parts});
    Tape tape;
    const Variable v = tape.input(y);
    return (*layer)(v, v, mask).value();
  }
  Tensor cross_attention(const Tensor& y, const Tensor& source) {
    const auto layer = attention.make(parts / "cross_attention", AttentionPlace{d, 4, AttentionRole::cross, parts});
    Tape tape;
    return (*layer)(tape.input(y), tape.input(source), {}).value();
  }
  Tensor feed_forward_of(const Tensor& y) {
    const auto layer = feed_forward.make(parts / "feed_forward", d);
    Tape tape;
    return (*layer)(tape.input(y)).value();
  }
};

TEST_CASE("an encoder block normalises where its placement says") {
  const Tensor x = random_tensor(shape, 1);
  for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
    CAPTURE(name_of(placement));
    Parts p(placement);
    const EncoderBlock block(p.block, p.bench.scope, p.options());
    Tape tape;
    const Tensor result = block(tape.input(x), {}).value();
    if (placement == NormPlacement::pre) {
      const Tensor middle = plus(x, p.self_attention(normalized(x), {}));
      CHECK(largest_difference(result, plus(middle, p.feed_forward_of(normalized(middle)))) < 10 * rounding);
      CHECK(standardness(result) > 0.1);
    } else {
      const Tensor middle = normalized(plus(x, p.self_attention(x, {})));
      CHECK(largest_difference(result, normalized(plus(middle, p.feed_forward_of(middle)))) < 10 * rounding);
      CHECK(standardness(result) < 1e-4);  // epsilon takes a share of 1e-5 / variance
    }
  }
}

TEST_CASE("a decoder block normalises where its placement says, and not the source") {
  const Tensor x = random_tensor(shape, 1), source = random_tensor({2, 5, d}, 2);
  AttentionMask causal;
  causal.causal = true;
  for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
    CAPTURE(name_of(placement));
    Parts p(placement);
    const DecoderBlock block(p.block, p.bench.scope, p.options());
    Tape tape;
    const Tensor result = block(tape.input(x), causal, tape.input(source), {}).value();
    if (placement == NormPlacement::pre) {
      const Tensor first = plus(x, p.self_attention(normalized(x), causal));
      const Tensor second = plus(first, p.cross_attention(normalized(first), source));
      CHECK(largest_difference(result, plus(second, p.feed_forward_of(normalized(second)))) < 10 * rounding);
    } else {
      const Tensor first = normalized(plus(x, p.self_attention(x, causal)));
      const Tensor second = normalized(plus(first, p.cross_attention(first, source)));
      CHECK(largest_difference(result, normalized(plus(second, p.feed_forward_of(second)))) < 10 * rounding);
      CHECK(standardness(result) < 1e-4);
    }
  }
}

TEST_CASE("a stack ends in a norm of its own with pre placement only") {
  const Tensor x = random_tensor(shape, 1);
  for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
    CAPTURE(name_of(placement));
    const bool pre = placement == NormPlacement::pre;
    Parts p(placement);
    const Encoder encoder(p.bench.scope / "encoder", 2, p.options());
    const Decoder decoder(p.bench.scope / "decoder", 2, p.options());
    for (const char* name : {"encoder.norm.weight", "encoder.norm.bias", "decoder.norm.weight", "decoder.norm.bias"})
      CHECK(p.bench.has(name) == pre);
    Tape tape;
    const Variable encoded = encoder(tape.input(x), {});
    CHECK(standardness(encoded.value()) < 1e-4);
    CHECK(standardness(decoder(tape.input(x), {}, encoded, {}).value()) < 1e-4);

    // The last norm comes once, after the stack: of no blocks at all it is the norm of x.
    Bench empty;
    const Encoder none(empty.scope / "encoder", 0, p.options());
    const Tensor result = none(tape.input(x), {}).value();
    CHECK(largest_difference(result, pre ? normalized(x) : x) < 10 * rounding);
  }
}

}  // namespace
}  // namespace surd
