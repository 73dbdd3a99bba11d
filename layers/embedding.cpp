#include "layers/embedding.hpp"

#include <algorithm>

namespace surd {
namespace {

Parameter& embedding_weight(const Scope& scope, std::size_t vocabulary, std::size_t d_model, const InitOptions& init,
                            const EmbeddingOptions& options) {
  Parameter& weight = scope.parameter("weight", {vocabulary, d_model}, init.initializer());
  weight.learning_rate_multiplier = options.learning_rate_multiplier;
  return weight;
}

Parameter* learned_factor(const Scope& scope, const Scale& scale, std::size_t d_model) {
  return scale.learned() ? &scope.parameter("scale", {1}, constant(scale.value(d_model))) : nullptr;
}

/// The factor that an op applies: 1 where it is a parameter.
Real fixed_factor(const Scale& scale, std::size_t d_model) {
  return scale.learned() ? Real(1) : static_cast<Real>(scale.value(d_model));
}

}  // namespace

std::vector<std::string> names_of(Tie) { return {"none", "decoder", "all"}; }

TokenEmbedding::TokenEmbedding(const Scope& scope, std::size_t vocabulary, std::size_t d_model,
                               const EmbeddingOptions& options)
    : Module(scope),
      weight_(embedding_weight(scope, vocabulary, d_model, options.init, options)),
      factor_(fixed_factor(options.scale, d_model)),
      learned_scale_(learned_factor(scope, options.scale, d_model)) {
  scope.declare_factor("embedding", options.scale.describe(d_model));
  if (options.zero_padding) std::fill_n(weight_.value.data(), d_model, Real(0));  // the padding token has id 0
  if (options.norm) norm_.emplace(scope / "norm", d_model, NormOptions{});
}

Variable TokenEmbedding::operator()(Tape& tape, const Tokens& tokens, const Positions& positions,
                                    std::size_t first_position) const {
  const auto region = enter(tape);
  const Variable table = positions(tape, first_position + tokens.length);
  Variable weight = tape.parameter(weight_);
  if (learned_scale_ != nullptr) weight = scale_by(weight, tape.parameter(*learned_scale_));
  const Variable sum =
      embedding_with_positions(weight, tokens.ids, tokens.batch, tokens.length, factor_, table, first_position);
  return norm_ ? (*norm_)(sum) : sum;
}

OutputProjection::OutputProjection(const Scope& scope, const TokenEmbedding* tied, std::size_t vocabulary,
                                   std::size_t d_model, const EmbeddingOptions& options)
    : Module(scope),
      weight_(tied != nullptr ? tied->weight()
                              : embedding_weight(scope, vocabulary, d_model, options.output_init, options)),
      factor_(fixed_factor(options.logit_scale, d_model)),
      learned_scale_(learned_factor(scope, options.logit_scale, d_model)) {
  scope.declare_factor("logits", options.logit_scale.describe(d_model));
}

Variable OutputProjection::scaled(Variable x) const {
  return learned_scale_ == nullptr ? x : scale_by(x, x.tape().parameter(*learned_scale_));
}

Variable OutputProjection::operator()(Variable x) const {
  const auto region = enter(x.tape());
  const Variable logits = linear(scaled(x), x.tape().parameter(weight_));
  return factor_ == 1 ? logits : scale(logits, factor_);
}

Variable OutputProjection::loss(Variable x, const std::vector<std::int32_t>& targets,
                                const CrossEntropyOptions& options) const {
  const auto region = enter(x.tape());
  return projection_cross_entropy(scaled(x), x.tape().parameter(weight_), factor_, targets, options);
}

}  // namespace surd
