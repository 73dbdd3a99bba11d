#include "layers/embedding.hpp"

#include <algorithm>
#include <utility>

namespace surd {
namespace {

/// The same, but the row of the padding token starts at zero.
Initializer with_zero_padding(Initializer init) {
  return [init = std::move(init)](Tensor& weight, const random::Stream& stream) {
    init(weight, stream);
    std::fill_n(weight.data() + padding_id * row_length(weight), row_length(weight), Real(0));
  };
}

Parameter& embedding_weight(const Scope& scope, std::size_t vocabulary, std::size_t d_model, const Initializer& init,
                            const EmbeddingOptions& options) {
  Parameter& weight = scope.parameter("weight", {vocabulary, d_model}, init);
  weight.learning_rate_multiplier = options.learning_rate_multiplier;
  return weight;
}

}  // namespace

std::vector<std::string> names_of(Tie) { return {"none", "decoder", "all"}; }

TokenEmbedding::TokenEmbedding(const Scope& scope, std::size_t vocabulary, std::size_t d_model,
                               const EmbeddingOptions& options)
    : Module(scope),
      weight_(embedding_weight(
          scope, vocabulary, d_model,
          options.zero_padding ? with_zero_padding(options.init.initializer()) : options.init.initializer(), options)),
      factor_(scope, "embedding", options.scale, d_model) {}

Variable TokenEmbedding::operator()(Tape& tape, const Tokens& tokens, const Positions& positions,
                                    std::size_t first_position) const {
  const auto region = enter(tape);
  const auto& places = tokens.places;
  const std::size_t longest = places.empty()
                                  ? first_position + tokens.length
                                  : static_cast<std::size_t>(*std::max_element(places.begin(), places.end())) + 1;
  return embedding_with_positions(tape.parameter(weight_), tokens.ids, tokens.batch, tokens.length, factor_.number(),
                                  factor_.parameter(tape), {positions(tape, longest), first_position, places});
}

OutputProjection::OutputProjection(const Scope& scope, const TokenEmbedding* tied, std::size_t vocabulary,
                                   std::size_t d_model, const EmbeddingOptions& options)
    : Module(scope),
      weight_(tied != nullptr
                  ? tied->weight()
                  : embedding_weight(scope, vocabulary, d_model, options.output_init.initializer(), options)),
      bias_(options.output_bias
                ? &scope.parameter("bias", {vocabulary}, uniform(options.output_bias_std.value(d_model)))
                : nullptr),
      factor_(scope, "logits", options.logit_scale, d_model, capped(options.logit_cap)),
      cap_(static_cast<Real>(options.logit_cap.value_or(0))) {}

Variable OutputProjection::operator()(Variable x) const {
  const auto region = enter(x.tape());
  // A learned factor is taken into the hidden states, which are narrower than the logits.
  const Variable logits = linear(factor_.times_parameter(x), x.tape().parameter(weight_));
  const Variable scaled = factor_.number() == 1 ? logits : scale(logits, factor_.number());
  const Variable whole = bias_ == nullptr ? scaled : add_bias(scaled, x.tape().parameter(*bias_));
  return cap_ > 0 ? soft_cap(whole, cap_) : whole;
}

Variable OutputProjection::loss(Variable x, const std::vector<std::int32_t>& targets,
                                const CrossEntropyArguments& arguments) const {
  const auto region = enter(x.tape());
  Tape& tape = x.tape();
  CrossEntropyArguments with_cap = arguments;
  with_cap.logit_cap = cap_;
  return projection_cross_entropy(factor_.times_parameter(x), tape.parameter(weight_), tape.parameter(bias_),
                                  factor_.number(), targets, with_cap);
}

}  // namespace surd
