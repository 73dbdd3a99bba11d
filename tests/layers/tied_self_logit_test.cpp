#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

// With one matrix for the decoder's input and its output, an untrained decoder predicts the token it was just
// given: the shortcuts carry alpha E[y] to the output, which multiplies it by E[y] again. In units of the other logits'
// standard deviation (which is 1 for N(0, 1/d)) that logit is alpha / sqrt(alpha^2 / d + v), where v is the variance of
// a position's encoding over its columns (the last LayerNorm removes the mean): close to sqrt(d) with alpha = sqrt(d).

namespace surd {
namespace {

constexpr std::size_t vocabulary = 500, batch = 50, length = 10;

struct Logits {
  double own = 0;     ///< mean logit of the decoder's own input token
  double spread = 0;  ///< rms of the others
};

Logits measure(std::size_t d, Tie tie, const Scale& alpha, std::size_t layers) {
  TransformerOptions options;
  options.d_model = d;
  options.heads = 4;
  options.encoder_layers = 0;
  options.decoder_layers = layers;
  options.embedding.tie = tie;
  options.embedding.scale = alpha;
  options.feed_forward = test::feed_forward({2 * d});
  test::Bench bench;
  const Transformer model(bench.scope, options, vocabulary, vocabulary);

  random::Sequence draw(random::Stream(1, "test", "tokens"));
  std::vector<std::int32_t> source(batch * length), target(batch * length);
  for (std::int32_t& token : source) token = static_cast<std::int32_t>(draw.integer(vocabulary));
  for (std::int32_t& token : target) token = static_cast<std::int32_t>(draw.integer(vocabulary));
  TapeArguments forward_only;
  forward_only.record = false;
  Tape tape(forward_only);
  const Variable encoded = model.encode(tape, {source, batch, length}, {});
  const Tensor& logits = model.logits(model.decode({target, batch, length}, encoded, {})).value();

  Logits result;
  double squares = 0;
  for (std::size_t i = 0; i < target.size(); ++i)
    for (std::size_t token = 0; token < vocabulary; ++token) {
      const auto logit = static_cast<double>(logits[i * vocabulary + token]);
      if (static_cast<std::int32_t>(token) == target[i])
        result.own += logit / static_cast<double>(target.size());
      else
        squares += logit * logit;
    }
  result.spread = std::sqrt(squares / static_cast<double>(target.size() * (vocabulary - 1)));
  return result;
}

TEST_CASE("a tied decoder without layers gives its own input token a logit near sqrt(d)") {
  const Scale root = Scale::Rule::sqrt_dim, one = Scale::Rule::one;
  struct Case {
    std::size_t d;
    double own;
  };
  for (const Case& c : {Case{64, 6.9}, Case{256, 14.0}, Case{512, 19.8}}) {
    CAPTURE(c.d);
    const Logits tied = measure(c.d, Tie::decoder, root, 0);
    CHECK(tied.own == doctest::Approx(c.own).epsilon(0.1));
    CHECK(tied.spread == doctest::Approx(1).epsilon(0.1));
    CHECK(measure(c.d, Tie::decoder, one, 0).own == doctest::Approx(1.8).epsilon(0.1));
    CHECK(std::fabs(measure(c.d, Tie::none, root, 0).own) < 0.2);  // 500 logits of standard deviation 1
  }
}

TEST_CASE("layers between a tied input and output lower the logit of the decoder's own input") {
  double above = 1e9;
  for (const std::size_t layers : {0, 1, 2}) {
    CAPTURE(layers);
    const double own = measure(64, Tie::decoder, Scale::Rule::sqrt_dim, layers).own;
    CHECK(own < 0.95 * above);
    CHECK(own > 1);
    above = own;
  }
}

}  // namespace
}  // namespace surd
