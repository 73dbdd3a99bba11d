#include "layers/transformer.hpp"

#include <algorithm>
#include <utility>

namespace surd {
namespace {

/// The scope, once the options have passed.
const Scope& checked(const Scope& scope, const TransformerOptions& options, std::size_t source_vocabulary,
                     std::size_t target_vocabulary) {
  check_options("model", options);
  expect(options.embedding.tie != Tie::all || source_vocabulary == target_vocabulary, "model",
         "embedding.tie: all needs one vocabulary for both sides; got {} and {} tokens", source_vocabulary,
         target_vocabulary);
  expect(options.kind != ModelKind::decoder_only || source_vocabulary == target_vocabulary, "model",
         "kind: decoder_only needs one vocabulary for both sides; got {} and {} tokens", source_vocabulary,
         target_vocabulary);
  const auto* learned = options.positions.options_of<LearnedPositions>();
  expect_option(options.kind != ModelKind::decoder_only || learned == nullptr || learned->shared,
                "model.positions.shared", "must be true for kind: decoder_only, whose two sides are one sequence");
  return scope;
}

BlockArguments block_arguments(const TransformerOptions& options) {
  return {options.d_model,
          options.heads,
          options.dropout,
          options.norm,
          options.attention,
          options.feed_forward,
          options.kind == ModelKind::encoder_decoder};
}

/// Sources without their padding, each with its target behind it, and no padding anywhere.
struct JoinedTokens {
  JoinedTokens(const Tokens& source, const std::vector<std::size_t>& source_lengths, const Tokens& target,
               const std::vector<std::size_t>& target_lengths, std::size_t max_length);

  std::shared_ptr<const RaggedRows> rows;
  std::vector<std::int32_t> ids;            // [N]
  std::vector<std::int32_t> target_places;  // which of these are the targets'
};

JoinedTokens::JoinedTokens(const Tokens& source, const std::vector<std::size_t>& source_lengths, const Tokens& target,
                           const std::vector<std::size_t>& target_lengths, std::size_t max_length) {
  // The longest possible, which follows from the lengths of the batch alone, so that its parts are padded alike.
  const std::size_t longest = std::min(source.length + target.length, max_length);
  std::vector<std::size_t> lengths;
  for (std::size_t b = 0; b < target.batch; ++b) {
    lengths.push_back(source_lengths[b] + target_lengths[b]);
    expect(source_lengths[b] <= source.length && target_lengths[b] >= 1 && target_lengths[b] <= target.length, "model",
           "a source of {} tokens among {}, a target of {} among {}", source_lengths[b], source.length,
           target_lengths[b], target.length);
    expect(lengths[b] <= longest, "model", "a source and its target take {} positions; there are {}", lengths[b],
           longest);
    const auto copy = [&](const Tokens& tokens, std::size_t length) {
      const auto row = tokens.ids.begin() + static_cast<std::ptrdiff_t>(b * tokens.length);
      ids.insert(ids.end(), row, row + static_cast<std::ptrdiff_t>(length));
    };
    copy(source, source_lengths[b]);
    for (std::size_t t = 0; t < target_lengths[b]; ++t)
      target_places.push_back(static_cast<std::int32_t>(ids.size() + t));
    copy(target, target_lengths[b]);
  }
  rows = std::make_shared<const RaggedRows>(lengths, longest);
}

/// Of each row, how many tokens stand before its padding; at least one.
std::vector<std::size_t> lengths_of(const Tokens& tokens) {
  std::vector<std::size_t> lengths;
  for (std::size_t b = 0; b < tokens.batch; ++b) {
    std::size_t length = tokens.length;
    while (length > 1 && tokens.ids[b * tokens.length + length - 1] == padding_id) --length;
    lengths.push_back(length);
  }
  return lengths;
}

Tokens ragged_tokens(const std::vector<std::int32_t>& ids, const RaggedRows& rows) {
  return {ids, 1, ids.size(), rows.places()};
}

AttentionMask ragged_mask(std::shared_ptr<const RaggedRows> query_rows, std::shared_ptr<const RaggedRows> key_rows) {
  AttentionMask mask;
  mask.query_rows = std::move(query_rows);
  mask.key_rows = std::move(key_rows);
  return mask;
}

void expect_source(const Tokens& source) {
  expect(source.length > 0, "model", "a source must hold at least its eos, because the model has an encoder");
}

/// Positions of x [B, T, d], which a module wrote, by their numbers in B T -> [shape, d]: the op that looks up
/// embeddings.
Variable positions_at(const Module& module, Variable x, const std::vector<std::int32_t>& numbers, const Shape& shape) {
  const Tape::Region region(x.tape(), module.path());
  return embedding(reshape(x, {row_count(x.value()), row_length(x.value())}), numbers, shape);
}

/// Where documents begin in each row; empty where each row is one.
std::vector<std::vector<std::size_t>> documents_of(const Tokens& tokens) {
  if (tokens.places.empty()) return {};
  expect(tokens.places.size() == tokens.ids.size(), "model", "{} places for {} tokens", tokens.places.size(),
         tokens.ids.size());
  std::vector<std::vector<std::size_t>> documents(tokens.batch);
  for (std::size_t i = 0; i < tokens.places.size(); ++i)
    if (tokens.places[i] == 0) documents[i / tokens.length].push_back(i % tokens.length);
  return documents;
}

}  // namespace

std::vector<std::string> names_of(ModelKind) { return {"encoder_decoder", "decoder_only"}; }

Transformer::Transformer(const Scope& scope, const TransformerOptions& options, std::size_t source_vocabulary,
                         std::size_t target_vocabulary)
    : Module(checked(scope, options, source_vocabulary, target_vocabulary)),
      // Its name does not depend on what is tied to it, so that models that differ in tying draw the same values.
      target_embedding_(std::make_unique<TokenEmbedding>(scope / "target_embedding", target_vocabulary, options.d_model,
                                                         options.embedding)),
      source_embedding_(options.embedding.tie == Tie::all || options.kind == ModelKind::decoder_only
                            ? nullptr
                            : std::make_unique<TokenEmbedding>(scope / "source_embedding", source_vocabulary,
                                                               options.d_model, options.embedding)),
      positions_(options.positions.make(scope / "positions", options.d_model)),
      source_dropout_(scope / "source_dropout", options.dropout),
      target_dropout_(scope / "target_dropout", options.dropout),
      encoder_(options.kind == ModelKind::decoder_only
                   ? std::nullopt
                   : std::optional<Encoder>(std::in_place, scope / "encoder", options.encoder_layers,
                                            block_arguments(options))),
      decoder_(scope / "decoder", options.decoder_layers, block_arguments(options)),
      output_(scope / "output", options.embedding.tie == Tie::none ? nullptr : target_embedding_.get(),
              target_vocabulary, options.d_model, options.embedding) {
  if (!options.embedding.norm) return;
  const LayerNormOptions norm{{options.embedding.norm_epsilon}};
  if (encoder_) source_norm_.emplace(scope / "source_embedding" / "norm", options.d_model, norm);
  target_norm_.emplace(scope / "target_embedding" / "norm", options.d_model, norm);
}

Variable Transformer::embed_source(Tape& tape, const Tokens& source) const {
  const Variable sum = source_embedding()(tape, source, *positions_, 0);
  return source_dropout_(source_norm_ ? (*source_norm_)(sum) : sum);
}

const Encoder& Transformer::encoder() const {
  expect(encoder_.has_value(), "model", "has no encoder: its kind is decoder_only");
  return *encoder_;
}

Variable Transformer::hidden(Tape& tape, const Tokens& source, const std::vector<std::size_t>& source_lengths,
                             const Tokens& target) const {
  expect(target.places.empty() || (!encoder_ && source.length == 0), "model",
         "a row of targets can hold several documents only where there is no encoder and no source");
  if (encoder_) return decode(target, encode(tape, source, source_lengths), source_lengths);
  const Tape::OnSide side(tape, ModelSide::joined);
  if (source.length == 0) {
    AttentionMask mask;
    mask.documents = documents_of(target);
    return decoder_(embed_target(tape, target, 0), mask, {}, {});
  }
  expect(source.batch == target.batch && (source_lengths.empty() || source_lengths.size() == source.batch), "model",
         "{} sources with {} lengths and {} targets", source.batch, source_lengths.size(), target.batch);
  const auto lengths = source_lengths.empty() ? std::vector(source.batch, source.length) : source_lengths;
  const JoinedTokens joined(source, lengths, target, lengths_of(target), max_length());
  const std::size_t longest = joined.rows->longest();
  const Variable all =
      decoder_(embed_target(tape, {joined.rows->padded(joined.ids), source.batch, longest}, 0), {}, {}, {});
  std::vector<std::int32_t> places;  // padding may find none of its own
  for (std::size_t b = 0; b < target.batch; ++b)
    for (std::size_t t = 0; t < target.length; ++t)
      places.push_back(static_cast<std::int32_t>(b * longest + std::min(lengths[b] + t, longest - 1)));
  return positions_at(decoder_, all, places, {source.batch, target.length});
}

Variable Transformer::ragged_hidden(Tape& tape, const Tokens& source, const std::vector<std::size_t>& source_lengths,
                                    const Tokens& target, const std::vector<std::size_t>& target_lengths) const {
  expect(takes_ragged_rows(), "model", "its attention does not take ragged rows");
  expect(target.places.empty(), "model", "ragged rows hold no packed documents");
  expect(source.batch == target.batch && source_lengths.size() == source.batch && target_lengths.size() == target.batch,
         "model", "{} sources with {} lengths, {} targets with {}", source.batch, source_lengths.size(), target.batch,
         target_lengths.size());
  if (!encoder_) {
    const JoinedTokens joined(source, source_lengths, target, target_lengths, max_length());
    Variable all;
    {
      const Tape::OnSide side(tape, ModelSide::joined);
      const Tape::InRows rows(tape, joined.rows);
      all = decoder_(embed_target(tape, ragged_tokens(joined.ids, *joined.rows), 0),
                     ragged_mask(joined.rows, joined.rows), {}, {});
    }
    return source.length == 0 ? all
                              : positions_at(decoder_, all, joined.target_places, {1, joined.target_places.size()});
  }
  expect_source(source);
  const auto source_rows = std::make_shared<const RaggedRows>(source_lengths, source.length);
  const auto target_rows = std::make_shared<const RaggedRows>(target_lengths, target.length);
  const auto source_ids = source_rows->taken_from(source.ids), target_ids = target_rows->taken_from(target.ids);
  Variable encoded;
  {
    const Tape::OnSide side(tape, ModelSide::source);
    const Tape::InRows rows(tape, source_rows);
    encoded =
        (*encoder_)(embed_source(tape, ragged_tokens(source_ids, *source_rows)), ragged_mask(source_rows, source_rows));
  }
  const Tape::OnSide side(tape, ModelSide::target);
  const Tape::InRows rows(tape, target_rows);
  return decoder_(embed_target(tape, ragged_tokens(target_ids, *target_rows), 0), ragged_mask(target_rows, target_rows),
                  encoded, ragged_mask(target_rows, source_rows));
}

Variable Transformer::encode(Tape& tape, const Tokens& source, const std::vector<std::size_t>& source_lengths) const {
  const Encoder& encoder = this->encoder();
  const Tape::OnSide side(tape, ModelSide::source);
  expect_source(source);
  AttentionMask mask;
  mask.key_lengths = source_lengths;
  return encoder(embed_source(tape, source), mask);
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
  encoder();  // or throws
  return decoder_(embed_target(encoded.tape(), target, 0), {}, encoded, mask);
}

Variable Transformer::logits(Variable hidden) const { return output_(hidden); }

Variable Transformer::loss(Variable hidden, const std::vector<std::int32_t>& targets,
                           const CrossEntropyArguments& arguments) const {
  return output_.loss(hidden, targets, arguments);
}

DecoderCache Transformer::start(Tape& tape, const Tokens& source,
                                const std::vector<std::size_t>& source_lengths) const {
  if (encoder_) {
    const Variable encoded = encode(tape, source, source_lengths);
    const Tape::OnSide side(tape, ModelSide::target);
    return decoder_.start(encoded, source_lengths);
  }
  for (const std::size_t length : source_lengths)
    expect(length == source.length, "model", "without an encoder, sources that are decoded together have one length");
  const Tape::OnSide side(tape, ModelSide::joined);
  DecoderCache cache = decoder_.start({}, {});
  if (source.length > 0) decoder_.step(embed_target(tape, source, 0), cache);
  return cache;
}

Variable Transformer::step(Tape& tape, const std::vector<std::int32_t>& last_tokens, DecoderCache& cache) const {
  const Tape::OnSide side(tape, encoder_ ? ModelSide::target : ModelSide::joined);
  const Tokens last{last_tokens, last_tokens.size(), 1};
  return decoder_.step(embed_target(tape, last, cache.length), cache);
}

}  // namespace surd
