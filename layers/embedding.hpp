#pragma once

#include "layers/factor.hpp"
#include "layers/linear.hpp"
#include "layers/positions.hpp"

#include <vector>

namespace surd {

/// What stands behind the end of the shorter rows of a batch.
inline constexpr std::int32_t padding_id = 0;

/// Token ids of a padded batch, [batch, length] row-major.
struct Tokens {
  const std::vector<std::int32_t>& ids;
  std::size_t batch;
  std::size_t length;
  /// Place of each token in its document [batch, length], so that one begins at each 0; empty: a row is one document.
  std::vector<std::int32_t> places = {};
};

/// Which matrices are one: none; the decoder's input and output; or those and the encoder's input. Press & Wolf,
/// arXiv 1608.05859.
enum class Tie { none, decoder, all };
std::vector<std::string> names_of(Tie);

struct EmbeddingOptions {
  Tie tie = Tie::decoder;
  InitOptions init = InitOptions::normal(Scale::Rule::inv_sqrt_dim);
  bool zero_padding = false;
  Scale scale = Scale::Rule::sqrt_dim;
  Scale logit_scale = Scale::Rule::one;
  std::optional<double> logit_cap = {};
  InitOptions output_init = InitOptions::normal(Scale::Rule::inv_sqrt_dim);
  double learning_rate_multiplier = 1;
  bool norm = false;
  double norm_epsilon = 1e-5;
  bool output_bias = false;
  FixedScale output_bias_std = FixedScale::constant(0);

  void fields(Fields& f) {
    f("tie", tie,
      "which embedding matrices are one: none, decoder (target input and output), all (source as well); a decoder "
      "alone has one input, so that decoder and all are the same");
    f("init", init, "initial embeddings; the factors below mean something only together with it");
    f("zero_padding", zero_padding, "start the padding token's row at zero");
    f("scale", scale, "factor on looked-up embeddings, over d_model; Vaswani et al., section 3.4");
    f("logit_scale", logit_scale, "factor on the output logits, over d_model");
    f("logit_cap", logit_cap,
      "logits go through cap tanh(logit / cap), as in Gemma 2, where it is 30; null: they do not", above(0));
    f("output_init", output_init, "initial output matrix", When{tie == Tie::none, "tie is none"});
    f("learning_rate_multiplier", learning_rate_multiplier,
      "on the learning rate of every matrix of tokens, an untied output's too, not of learned positions", above(0));
    f("norm", norm, "LayerNorm on the sum of embedding and position, one a side, as in BART");
    f("norm_epsilon", norm_epsilon, "added to its variance before the root", above(0), When{norm, "norm is true"});
    f("output_bias", output_bias, "whether the logits have a bias, behind logit_scale");
    bias_std_field(f, "output_bias_std", output_bias_std, "of its initial values, uniform, over d_model",
                   When{output_bias, "output_bias is true"});
  }
};

/// factor E[id] + position, with the parameter "weight", E [V, d_model].
class TokenEmbedding : public Module {
 public:
  TokenEmbedding(const Scope& scope, std::size_t vocabulary, std::size_t d_model, const EmbeddingOptions& options);

  /// Of one side of a model, at positions first_position, first_position + 1, ... or at the tokens' places
  /// -> [batch, length, d_model]
  Variable operator()(Tape& tape, const Tokens& tokens, const Positions& positions, std::size_t first_position) const;

  Parameter& weight() const { return weight_; }  ///< [V, d_model]

 private:
  Parameter& weight_;
  Factor factor_;
};

/// Logits factor x W^T + b, or their soft cap, over a vocabulary, W either its own or an embedding's, b [V] only where
/// an option asks for it.
class OutputProjection : public Module {
 public:
  /// `tied` is the embedding to share, or null for a matrix of its own, "weight" [V, d_model].
  OutputProjection(const Scope& scope, const TokenEmbedding* tied, std::size_t vocabulary, std::size_t d_model,
                   const EmbeddingOptions& options);

  Variable operator()(Variable x) const;  ///< [..., d_model] -> [..., V]
  /// Cross-entropy of those logits without holding them; see projection_cross_entropy.
  Variable loss(Variable x, const std::vector<std::int32_t>& targets, const CrossEntropyArguments& arguments) const;

 private:
  Parameter& weight_;
  Parameter* bias_;  // null: none
  Factor factor_;
  Real cap_;  // 0: none
};

}  // namespace surd
