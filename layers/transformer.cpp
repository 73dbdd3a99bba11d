#include "layers/transformer.hpp"

namespace surd {
namespace {

/// The scope, once the options have passed.
const Scope& checked(const Scope& scope, const TransformerOptions& options, std::size_t source_vocabulary,
                     std::size_t target_vocabulary) {
  check_options("model", options);
  expect(options.embedding.tie != Tie::all || source_vocabulary == target_vocabulary, "model",
         "embedding.tie: all needs one vocabulary for both sides; got {} and {} tokens", source_vocabulary,
         target_vocabulary);
  return scope;
}

BlockArguments block_arguments(const TransformerOptions& options) {
  return {options.d_model, options.heads, options.dropout, options.norm, options.attention, options.feed_forward};
}

}  // namespace

Transformer::Transformer(const Scope& scope, const TransformerOptions& options, std::size_t source_vocabulary,
                         std::size_t target_vocabulary)
    : Module(checked(scope, options, source_vocabulary, target_vocabulary)),
      // Its name does not depend on what is tied to it, so that models that differ in tying draw the same values.
      target_embedding_(std::make_unique<TokenEmbedding>(scope / "target_embedding", target_vocabulary, options.d_model,
                                                         options.embedding)),
      source_embedding_(options.embedding.tie == Tie::all
                            ? nullptr
                            : std::make_unique<TokenEmbedding>(scope / "source_embedding", source_vocabulary,
                                                               options.d_model, options.embedding)),
      positions_(options.positions.make(scope / "positions", options.d_model)),
      source_dropout_(scope / "source_dropout", options.dropout),
      target_dropout_(scope / "target_dropout", options.dropout),
      encoder_(scope / "encoder", options.encoder_layers, block_arguments(options)),
      decoder_(scope / "decoder", options.decoder_layers, block_arguments(options)),
      output_(scope / "output", options.embedding.tie == Tie::none ? nullptr : target_embedding_.get(),
              target_vocabulary, options.d_model, options.embedding) {
  if (!options.embedding.norm) return;
  const NormOptions norm{options.embedding.norm_epsilon};
  source_norm_.emplace(scope / "source_embedding" / "norm", options.d_model, norm);
  target_norm_.emplace(scope / "target_embedding" / "norm", options.d_model, norm);
}

Variable Transformer::embed_source(Tape& tape, const Tokens& source) const {
  const Variable sum = source_embedding()(tape, source, *positions_, 0);
  return source_dropout_(source_norm_ ? (*source_norm_)(sum) : sum);
}

Variable Transformer::encode(Tape& tape, const Tokens& source, const std::vector<std::size_t>& source_lengths) const {
  const Tape::OnSide side(tape, ModelSide::source);
  AttentionMask mask;
  mask.key_lengths = source_lengths;
  return encoder_(embed_source(tape, source), mask);
}

Variable Transformer::embed_target(Tape& tape, const Tokens& target, std::size_t first_position) const {
  const Variable sum = (*target_embedding_)(tape, target, *positions_, first_position);
  return target_dropout_(target_norm_ ? (*target_norm_)(sum) : sum);
}

Variable Transformer::decode(const Tokens& target, Variable encoded,
                             const std::vector<std::size_t>& source_lengths) const {
  const Tape::OnSide side(encoded.tape(), ModelSide::target);
  AttentionMask mask;
  mask.key_lengths = source_lengths;
  return decoder_(embed_target(encoded.tape(), target, 0), encoded, mask);
}

Variable Transformer::logits(Variable hidden) const { return output_(hidden); }

Variable Transformer::loss(Variable hidden, const std::vector<std::int32_t>& targets,
                           const CrossEntropyArguments& arguments) const {
  return output_.loss(hidden, targets, arguments);
}

DecoderCache Transformer::start(Variable encoded, const std::vector<std::size_t>& source_lengths) const {
  const Tape::OnSide side(encoded.tape(), ModelSide::target);
  return decoder_.start(encoded, source_lengths);
}

Variable Transformer::step(Tape& tape, const std::vector<std::int32_t>& last_tokens, DecoderCache& cache) const {
  const Tape::OnSide side(tape, ModelSide::target);
  const Tokens last{last_tokens, last_tokens.size(), 1};
  return decoder_.step(embed_target(tape, last, cache.length), cache);
}

}  // namespace surd
