#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

// Does the 1/sqrt(d_k) of the first attention layer undo the sqrt(d) on the embeddings? The input is token plus
// position, so a score is the sum of four products. Multiplying the tokens by sqrt(d) multiplies them by d, sqrt(d),
// sqrt(d) and 1: no one constant takes all of that back. A norm in front of the layer removes the common factor of the
// input and leaves the shift from positions to tokens.

namespace surd {
namespace {

constexpr std::size_t d = 64, heads = 4, length = 20, vocabulary = 200;

/// The first encoder layer's attention and the two parts of its input, at one alpha.
struct First {
  First(const Scale& alpha, std::uint64_t seed)
      : bench(seed),
        layer(bench.scope / "attention", bench.place(d, heads), MultiHeadOptions()),
        positions(bench.scope / "positions", d, SinusoidalOptions()) {
    EmbeddingOptions options;
    options.scale = alpha;
    const TokenEmbedding embedding(bench.scope / "embedding", vocabulary, d, options);
    const NoPositions none(bench.scope / "none", d, {});
    std::vector<std::int32_t> ids(length);
    std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(seed));
    const std::vector<std::int32_t> padding(length, 0);
    Tape tape;
    token = embedding(tape, {ids, 1, length}, none, 0).value();
    both = embedding(tape, {ids, 1, length}, positions, 0).value();
    position = slice(positions(tape, length), 0, 0, length).value();
    position = reshape(tape.input(position), {1, length, d}).value();
  }

  Tensor scores(const Tensor& queries, const Tensor& keys) const {
    test::Recorder recorder;
    TapeArguments options;
    options.observer = &recorder;
    Tape tape(options);
    layer(tape.input(queries), tape.input(keys), {});
    return recorder.only("attention: scores");
  }

  test::Bench bench;
  MultiHeadAttention layer;
  SinusoidalPositions positions;
  Tensor token, position, both;
};

Tensor normed(const Tensor& x) {
  Tape tape;
  return layer_norm(tape.input(x), tape.input(full({d}, 1)), tape.input(zeros({d})), Real(1e-5)).value();
}

/// Root mean square of the scores over draws of the weights, whose sign is random: their standard deviation.
template <class Scores>
double deviation(const Scale& alpha, const Scores& scores) {
  double squares = 0, count = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const First first(alpha, seed);
    for (const Real score : scores(first)) {
      squares += static_cast<double>(score) * static_cast<double>(score);
      ++count;
    }
  }
  return std::sqrt(squares / count);
}

const Scale one = Scale::Rule::one, root = Scale::Rule::sqrt_dim;

TEST_CASE("the four parts of a score grow by d, sqrt(d), sqrt(d) and 1") {
  const auto growth = [](const auto& scores) { return deviation(root, scores) / deviation(one, scores); };
  const double root_d = std::sqrt(static_cast<double>(d));
  const auto is = [](double value) { return doctest::Approx(value).epsilon(0.05); };
  CHECK(growth([](const First& f) { return f.scores(f.token, f.token); }) == is(root_d * root_d));
  CHECK(growth([](const First& f) { return f.scores(f.token, f.position); }) == is(root_d));
  CHECK(growth([](const First& f) { return f.scores(f.position, f.token); }) == is(root_d));
  CHECK(growth([](const First& f) { return f.scores(f.position, f.position); }) == is(1));
}

TEST_CASE("the four parts of a score are all there is") {
  const First first(root, 1);
  const Tensor total = first.scores(first.both, first.both);
  Tensor sum = zeros(total.shape());
  for (const Tensor* queries : {&first.token, &first.position})
    for (const Tensor* keys : {&first.token, &first.position}) {
      const Tensor part = first.scores(*queries, *keys);
      for (std::size_t i = 0; i < sum.size(); ++i) sum.data()[i] += part.data()[i];
    }
  CHECK(test::relative_difference(sum, total) < test::rounding);
}

TEST_CASE("behind a norm, a factor on the tokens leaves the size of the scores") {
  const auto behind_norm = [](const First& f) { return f.scores(normed(f.both), normed(f.both)); };
  CHECK(deviation(root, behind_norm) == doctest::Approx(deviation(one, behind_norm)).epsilon(0.1));
  const auto total = [](const First& f) { return f.scores(f.both, f.both); };
  CHECK(deviation(root, total) > 2 * deviation(one, total));  // without one it does not
}

}  // namespace
}  // namespace surd
