#pragma once

#include "layers/transformer.hpp"
#include "tests/tensors.hpp"
#include "tests/text.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Small models and what looks into them.
namespace surd::test {

/// Where a module under test is built.
struct Bench {
  explicit Bench(std::uint64_t seed = 1) : scope(parameters, seed) {}
  ParameterSet parameters;
  Scope scope;

  AttentionPlace place(std::size_t d_model, std::size_t heads, AttentionRole role = AttentionRole::encoder_self) const {
    return {d_model, heads, role, scope};
  }
  bool has(std::string_view name) const {
    for (const Parameter& parameter : parameters)
      if (parameter.name == name) return true;
    return false;
  }
};

/// All that there are.
inline std::vector<Activation> activations() {
  std::vector<Activation> all;
  for (std::size_t i = 0; i < names_of(Activation{}).size(); ++i) all.push_back(static_cast<Activation>(i));
  return all;
}

/// Adds noise to every parameter, so that no mistake hides behind a bias of zero or a gain of one.
inline void perturb(ParameterSet& parameters, double deviation = 0.2) {
  for (Parameter& parameter : parameters) {
    const random::Stream stream(1, "test", parameter.name);
    for (std::size_t i = 0; i < parameter.value.size(); ++i)
      parameter.value.data()[i] += static_cast<Real>(deviation * stream.normal(i));
  }
}

/// Sees everything a pass records, by "path: what".
class Recorder : public Observer {
 public:
  void see(const Event& event) override {
    if (event.kind != Event::Kind::gradient)
      values[fmt::format("{}: {}", event.path, event.what)].push_back(event.tensor);
  }

  const Tensor& only(const std::string& key) const {
    const auto found = values.find(key);
    expect(found != values.end() && found->second.size() == 1, "Recorder", "'{}' was not recorded once", key);
    return found->second.front();
  }

  std::map<std::string, std::vector<Tensor>> values;
};

/// A padded batch: three pairs over vocabularies of `vocabulary` tokens each (0 is padding, 1 begins, 2 ends).
struct Example {
  std::size_t size = 3, source_length = 5, target_length = 4;
  std::vector<std::int32_t> source = {3, 4, 5, 6, 2, 7, 3, 2, 0, 0, 4, 4, 8, 2, 0};
  std::vector<std::size_t> source_lengths = {5, 3, 4};
  std::vector<std::int32_t> target_input = {1, 5, 3, 0, 1, 6, 7, 8, 1, 0, 0, 0};
  std::vector<std::int32_t> target_output = {5, 3, 2, 0, 6, 7, 8, 2, 2, 0, 0, 0};
  std::vector<std::size_t> target_lengths = {3, 4, 1};
  static constexpr std::size_t vocabulary = 9;

  Tokens source_tokens() const { return {source, size, source_length}; }
  Tokens target_tokens() const { return {target_input, size, target_length}; }

  Variable encoded(const Transformer& model, Tape& tape) const {
    return model.encode(tape, source_tokens(), source_lengths);
  }
  Variable hidden(const Transformer& model, Tape& tape) const {
    return model.hidden(tape, source_tokens(), source_lengths, target_tokens());
  }
  DecoderCache start(const Transformer& model, Tape& tape) const {
    return model.start(tape, source_tokens(), source_lengths);
  }
  CrossEntropyArguments loss_arguments() const { return {Real(0.1), 0, 8}; }
  Variable loss(const Transformer& model, Tape& tape) const {
    return model.loss(hidden(model, tape), target_output, loss_arguments());
  }
  /// Rows [begin, end), padded as before.
  Example rows(std::size_t begin, std::size_t end) const {
    const auto part = [&](auto& values, std::size_t length) {
      const auto first = values.begin();
      values = {first + static_cast<std::ptrdiff_t>(begin * length), first + static_cast<std::ptrdiff_t>(end * length)};
    };
    Example slice = *this;
    slice.size = end - begin;
    part(slice.source, source_length);
    part(slice.source_lengths, 1);
    part(slice.target_input, target_length);
    part(slice.target_output, target_length);
    part(slice.target_lengths, 1);
    return slice;
  }
};

inline FeedForwardChoice feed_forward(const PositionWiseOptions& options) {
  FeedForwardChoice choice(feed_forwards(), "position_wise");
  choice.set<PositionWiseFeedForward>("position_wise", options);
  return choice;
}
inline AttentionChoice attention(const MultiHeadOptions& options) {
  AttentionChoice choice(attentions(), "multi_head");
  choice.set<MultiHeadAttention>("multi_head", options);
  return choice;
}
inline PositionsChoice sinusoidal(const SinusoidalOptions& options) {
  PositionsChoice choice(positions(), "sinusoidal");
  choice.set<SinusoidalPositions>("sinusoidal", options);
  return choice;
}
inline PositionsChoice learned_positions(const LearnedPositionsOptions& options) {
  PositionsChoice choice(positions(), "learned");
  choice.set<LearnedPositions>("learned", options);
  return choice;
}

/// d_model 16 and d_k 4, whose roots are powers of two: factors act without rounding.
inline TransformerOptions small_options() {
  TransformerOptions options;
  options.d_model = 16;
  options.heads = 4;
  options.encoder_layers = options.decoder_layers = 1;
  options.feed_forward = feed_forward({12});
  return options;
}

/// Models that exercise everything decoding has to keep apart from training.
inline std::vector<TransformerOptions> varied_options() {
  std::vector<TransformerOptions> all(8, small_options());
  all[1].norm.placement = NormPlacement::post;
  all[1].encoder_layers = all[1].decoder_layers = 2;
  MultiHeadOptions capped;
  capped.score_cap = 1.5;
  all[1].attention = attention(capped);
  all[1].embedding.logit_cap = 2;
  all[2].embedding.norm = true;
  all[2].embedding.scale = Scale(Scale::Rule::sqrt_dim, 1, true);
  all[2].attention = attention({Scale(Scale::Rule::inv_sqrt_dim, 1, true), false, QueryKeyNorm::rms_norm});
  all[2].positions = learned_positions({6});
  SinusoidalOptions learned;
  learned.scale = Scale(Scale::Rule::one, 1, true);
  all[3].positions = sinusoidal(learned);
  all[3].embedding.tie = Tie::all;
  all[3].norm.kind.select("rms_norm");
  for (const auto& [i, name] :
       {std::pair(4, "multi_query"), std::pair(5, "rotary"), std::pair(6, "alibi"), std::pair(7, "relative_bias")})
    all[static_cast<std::size_t>(i)].attention.select(name);
  all[5].positions.select("none");
  all[6].positions.select("none");
  all[6].feed_forward.select("gated");
  all[7].encoder_layers = all[7].decoder_layers = 2;  // which share the biases
  all[7].embedding.output_bias = true;
  all[7].positions = learned_positions({6, Scale::Rule::one, {}, false});
  return all;
}

/// The same model without an encoder, with places for both sides of an example.
inline TransformerOptions decoder_only(TransformerOptions options) {
  options.kind = ModelKind::decoder_only;
  if (options.positions.name() == "learned") options.positions = learned_positions({18});
  return options;
}

/// The hidden state of row b at position t.
inline Tensor state(const Tensor& hidden, std::size_t b, std::size_t t) {
  const std::size_t d = hidden.shape()[2];
  Tensor result(Shape{d});
  std::copy_n(hidden.data() + (b * hidden.shape()[1] + t) * d, d, result.data());
  return result;
}

/// A Transformer over Example's vocabularies.
struct Model : Bench {
  explicit Model(const TransformerOptions& options, std::uint64_t seed = 1)
      : Bench(seed), transformer(scope, options, Example::vocabulary, Example::vocabulary) {}
  Transformer transformer;
};

/// Largest difference relative to the largest magnitude of b.
inline double relative_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (const Real value : b) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  return largest_difference(a, b) / largest;
}

/// Rounding of a few hundred operations.
inline constexpr double rounding = sizeof(Real) == 4 ? 1e-5 : 1e-13;

}  // namespace surd::test
