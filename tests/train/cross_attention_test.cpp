#include "train/cross_attention.hpp"

#include "tests/train/toy.hpp"

#include <doctest/doctest.h>

namespace surd {
namespace {

using Ids = std::vector<TokenId>;

const Ids source = {4, 5, 6, 5, Vocabulary::eos};
const Ids target = {6, 4, 4, 5, Vocabulary::eos};

TransformerOptions two_layers(double dropout = 0.5) {
  TransformerOptions options = test::toy_options(dropout);
  options.decoder_layers = 2;
  return options;
}

double distance(const Tensor& a, const Tensor& b, std::size_t head, std::size_t t) {
  double largest = 0;
  for (std::size_t s = 0; s < source.size(); ++s)
    largest = std::max(largest, std::abs(static_cast<double>(a(head, t, s) - b(head, t, s))));
  return largest;
}

TEST_CASE("each layer and head tells where it looks for each token of the target") {
  const test::Toy model(7, two_layers());
  const auto layers = cross_attention(model.transformer, source, target);
  REQUIRE(layers.size() == 2);
  CHECK(layers[0].layer == "decoder.0.cross_attention");
  CHECK(layers[1].layer == "decoder.1.cross_attention");
  for (const CrossAttention& layer : layers) {
    REQUIRE(layer.weights.shape() == Shape{2, target.size(), source.size()});
    for (std::size_t head = 0; head < 2; ++head)
      for (std::size_t t = 0; t < target.size(); ++t) {
        double sum = 0;
        for (std::size_t s = 0; s < source.size(); ++s) sum += static_cast<double>(layer.weights(head, t, s));
        CHECK(sum == doctest::Approx(1).epsilon(1e-5));
      }
  }
}

TEST_CASE("a row is of what was written before its token, and of nothing later") {
  const test::Toy model(7, two_layers());
  Ids other = target;
  other[2] = 5;
  const auto layers = cross_attention(model.transformer, source, target);
  const auto changed = cross_attention(model.transformer, source, other);
  const auto cut = cross_attention(model.transformer, source, {target.begin(), target.begin() + 3});
  for (std::size_t layer = 0; layer < 2; ++layer)
    for (std::size_t head = 0; head < 2; ++head) {
      for (std::size_t t = 0; t < 3; ++t) {
        CHECK(distance(layers[layer].weights, changed[layer].weights, head, t) == 0);
        CHECK(distance(layers[layer].weights, cut[layer].weights, head, t) < 1e-6);
      }
      CHECK(distance(layers[layer].weights, changed[layer].weights, head, 3) > 1e-4);
    }
}

TEST_CASE("dropout does not act") {
  const test::Toy dropping(7, two_layers()), whole(7, two_layers(0));
  const auto a = cross_attention(dropping.transformer, source, target);
  const auto b = cross_attention(whole.transformer, source, target);
  for (std::size_t layer = 0; layer < 2; ++layer) CHECK(a[layer].weights == b[layer].weights);
}

TEST_CASE("queries that are zero look everywhere alike") {
  test::Toy model(7, two_layers());
  for (const char* name : {"decoder.1.cross_attention.query.weight", "decoder.1.cross_attention.query.bias"})
    for (Real& weight : model.parameters.find(name).value) weight = 0;
  const auto layers = cross_attention(model.transformer, source, target);
  for (const Real weight : layers[1].weights) CHECK(weight == doctest::Approx(1.0 / 5).epsilon(1e-6));
  CHECK_FALSE(layers[0].weights(0, 0, 0) == doctest::Approx(1.0 / 5).epsilon(1e-6));
}

TEST_CASE("a translation of no ids has no attention") {
  const test::Toy model(7);
  CHECK_THROWS_AS(cross_attention(model.transformer, source, {}), Error);
}

}  // namespace
}  // namespace surd
