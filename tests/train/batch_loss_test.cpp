#include "train/batch_loss.hpp"

#include "tests/train/toy.hpp"
#include "train/evaluation.hpp"

#include <doctest/doctest.h>

namespace surd {
namespace {

using test::Toy;

constexpr std::size_t vocabulary = Vocabulary::specials + 5;

/// Multi-head attention that leaves padding where it is.
class PaddedAttention : public MultiHeadAttention {
 public:
  using Options = MultiHeadOptions;
  using MultiHeadAttention::MultiHeadAttention;
  bool takes_ragged_rows() const override { return false; }
};

TransformerOptions with_attention(const char* name, ModelKind kind) {
  TransformerOptions options = test::toy_options();
  options.kind = kind;
  options.attention.select(name);
  return options;
}

TEST_CASE("losses and scores do not depend on whether padding is computed") {
  attentions().add<PaddedAttention>("padded", "");
  const auto pairs = test::copy_pairs(9, 1, 6, 5);
  const Batch batch = make_batch(pairs, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  const std::size_t tokens = batch.target_tokens();
  REQUIRE(tokens < batch.size * batch.target_length);
  for (const ModelKind kind : {ModelKind::encoder_decoder, ModelKind::decoder_only}) {
    const Toy ragged(vocabulary, with_attention("multi_head", kind)),
        padded(vocabulary, with_attention("padded", kind));
    Tape tape;
    const BatchHidden without = batch_hidden(ragged.transformer, tape, batch);
    CHECK(without.states.shape() == Shape{1, tokens, 8});
    CHECK(without.targets.size() == tokens);
    const BatchHidden with = batch_hidden(padded.transformer, tape, batch);
    CHECK(with.states.shape() == Shape{batch.size, batch.target_length, 8});
    CHECK(with.targets == batch.target_output);
    const auto loss = [&](const Toy& toy) {
      return static_cast<double>(
          batch_loss(toy.transformer, tape, batch, Real(0.1), static_cast<Real>(tokens)).value().data()[0]);
    };
    CHECK(loss(ragged) == doctest::Approx(loss(padded)).epsilon(1e-5));
    const auto scores = score(ragged.transformer, pairs, 4), others = score(padded.transformer, pairs, 4);
    REQUIRE(scores.size() == others.size());
    for (std::size_t i = 0; i < scores.size(); ++i)
      for (std::size_t t = 0; t < scores[i].size(); ++t)
        CHECK(scores[i][t] == doctest::Approx(others[i][t]).epsilon(1e-5));
  }
}

}  // namespace
}  // namespace surd
