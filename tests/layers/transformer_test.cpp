#include "layers/transformer.hpp"

#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace surd {
namespace {

using test::Bench;
using test::Example;
using test::message_of;
using test::Model;
using test::relative_difference;
using test::rounding;
using test::small_options;
using test::state;
using test::varied_options;

TEST_CASE("the number of parameters is that of the same model in PyTorch") {
  // V = 64, d = 32, 4 heads, width 128, 2 + 2 layers, all embeddings tied, pre-norm
  TransformerOptions options;
  options.d_model = 32;
  options.feed_forward = test::feed_forward({128});
  options.embedding.tie = Tie::all;
  const std::size_t norm = 2 * 32, attention = 4 * (32 * 32 + 32), feed_forward = 2 * 32 * 128 + 128 + 32;
  const std::size_t encoder = 2 * (attention + feed_forward + 2 * norm) + norm;
  const std::size_t decoder = 2 * (2 * attention + feed_forward + 3 * norm) + norm;
  Bench bench;
  const Transformer model(bench.scope, options, 64, 64);
  CHECK(bench.parameters.element_count() == 64 * 32 + encoder + decoder);
  CHECK(bench.parameters.element_count() == 61568);  // counted by PyTorch

  options.embedding.tie = Tie::none;
  options.norm.placement = NormPlacement::post;
  Bench other;
  const Transformer untied(other.scope, options, 50, 64);
  CHECK(other.parameters.element_count() == 50 * 32 + 2 * 64 * 32 + encoder + decoder - 2 * norm);
}

TEST_CASE("parameters are counted without being made, however many") {
  std::vector<TransformerOptions> all = varied_options();
  all.push_back(small_options());
  all.back().embedding.zero_padding = true;
  all.back().attention.select("relative_bias");
  all.back().encoder_layers = 3;
  for (const TransformerOptions& options : all) {
    Bench made;
    const Transformer model(made.scope, options, 9, 9);
    ParameterSet counted = ParameterSet::counting();
    const Transformer unmade(Scope(counted, 1), options, 9, 9);
    CHECK(counted.counted() == static_cast<double>(made.parameters.element_count()));
    CHECK(counted.size() == made.parameters.size());
  }
  TransformerOptions huge = small_options();
  huge.d_model = 65'536;
  ParameterSet counted = ParameterSet::counting();
  const Transformer unmade(Scope(counted, 1), huge, 9, 9);
  CHECK(counted.counted() > 12 * 65'536.0 * 65'536.0);  // of the attention's projections
}

TEST_CASE("parameters are named by their paths") {
  TransformerOptions options = small_options();
  options.embedding.tie = Tie::none;
  const Model model(options);
  for (const char* name :
       {"source_embedding.weight", "target_embedding.weight", "output.weight", "encoder.0.self_attention.query.weight",
        "encoder.0.self_attention_residual.norm.bias", "encoder.0.feed_forward.inner.weight", "encoder.norm.weight",
        "decoder.0.cross_attention.output.bias", "decoder.0.cross_attention_residual.norm.weight"})
    CHECK(model.has(name));
  options.embedding.tie = Tie::all;
  const Model tied(options);
  CHECK_FALSE(tied.has("source_embedding.weight"));
  CHECK_FALSE(tied.has("output.weight"));
  // The matrix that is always there has one name and so one draw, whatever is tied to it: arms of a study stay paired.
  CHECK(tied.has("target_embedding.weight"));
  CHECK(tied.parameters.size() == model.parameters.size() - 2);
}

TEST_CASE("padding a batch further changes no hidden state") {
  for (const TransformerOptions& options : varied_options()) {
    Model model(options);
    test::perturb(model.parameters);
    const Example example;
    Example longer = example;
    longer.source_length = 6;
    longer.target_length = 6;
    const auto pad = [](std::vector<std::int32_t>& ids, std::size_t from, std::size_t to) {
      std::vector<std::int32_t> padded;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        padded.push_back(ids[i]);
        if (i % from == from - 1) padded.resize(padded.size() + to - from, 0);
      }
      ids = padded;
    };
    pad(longer.source, 5, 6);
    pad(longer.target_input, 4, 6);
    pad(longer.target_output, 4, 6);
    Tape tape, longer_tape;
    const Variable hidden = example.hidden(model.transformer, tape);
    const Variable longer_hidden = longer.hidden(model.transformer, longer_tape);
    for (std::size_t b = 0; b < example.size; ++b)
      for (std::size_t t = 0; t < example.target_lengths[b]; ++t)
        CHECK(relative_difference(state(longer_hidden.value(), b, t), state(hidden.value(), b, t)) < rounding);
    const Variable loss = model.transformer.loss(hidden, example.target_output, example.loss_arguments());
    const Variable longer_loss = model.transformer.loss(longer_hidden, longer.target_output, example.loss_arguments());
    CHECK(relative_difference(longer_loss.value(), loss.value()) < rounding);
  }
}

TEST_CASE("no hidden state depends on padding, on later targets or on another row") {
  Model model(small_options());
  const Example example;
  Tape tape;
  const Tensor before = example.hidden(model.transformer, tape).value();
  Example changed = example;
  changed.source[8] = 7;        // row 1: padding of the source
  changed.source[14] = 5;       // row 2: the same
  changed.target_input[2] = 8;  // row 0, position 2
  Tape changed_tape;
  const Tensor after = changed.hidden(model.transformer, changed_tape).value();
  for (std::size_t b = 0; b < 3; ++b) {
    for (std::size_t t = 0; t < 4; ++t) {
      const double difference = relative_difference(state(after, b, t), state(before, b, t));
      if (b == 0 && t >= 2)
        CHECK(difference > 1e-3);
      else
        CHECK(difference < rounding);
    }
  }
}

TEST_CASE("dropout and gradients are those of the whole batch, however it is cut into replicas") {
  TransformerOptions options = small_options();
  options.dropout = 0.3;
  MultiHeadOptions dropping;
  dropping.dropout = 0.3;
  options.attention = test::attention(dropping);
  options.feed_forward = test::feed_forward({12, Activation::relu, 0.3});
  Model model(options);
  const Example example;
  TapeArguments tape_options;
  tape_options.seed = 7;
  tape_options.step = 3;
  Tape whole(tape_options);
  const Variable hidden = example.hidden(model.transformer, whole);
  const Tensor all = hidden.value();
  whole.backward(model.transformer.loss(hidden, example.target_output, example.loss_arguments()));
  std::vector<GradientSum> parts = model.parameters.make_gradients();
  for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 3}}) {
    const Example slice = example.rows(begin, end);
    tape_options.first_row = begin;
    tape_options.gradients = &parts;
    Tape tape(tape_options);
    const Variable part = slice.hidden(model.transformer, tape);
    for (std::size_t b = begin; b < end; ++b)
      for (std::size_t t = 0; t < 4; ++t)
        CHECK(relative_difference(state(part.value(), b - begin, t), state(all, b, t)) < rounding);
    tape.backward(model.transformer.loss(part, slice.target_output, slice.loss_arguments()));
  }
  for (const Parameter& parameter : model.parameters) {
    CAPTURE(parameter.name);
    if (parameter.name.find("key.bias") != std::string::npos) continue;  // nothing but rounding: softmax ignores it
    CHECK(relative_difference(parts[parameter.index].sum, parameter.gradient.sum) < 10 * rounding);
  }

  const auto states = [&](std::uint64_t seed, std::uint64_t step, bool training) {
    TapeArguments other;
    other.seed = seed;
    other.step = step;
    other.training = training;
    Tape tape(other);
    return Tensor(example.hidden(model.transformer, tape).value());
  };
  CHECK(test::largest_difference(states(7, 3, true), all) == 0);
  CHECK(relative_difference(states(7, 4, true), all) > 0.01);
  CHECK(relative_difference(states(8, 3, true), all) > 0.01);
  CHECK(relative_difference(states(7, 3, false), all) > 0.01);
  CHECK(test::largest_difference(states(7, 3, false), states(8, 4, false)) == 0);
}

TEST_CASE("a pass without backward has the same values, and memory for a block, however many there are") {
  const Example example;
  Tensor values[2];
  const auto bytes = [&](std::size_t blocks, bool record) {
    TransformerOptions options = small_options();
    options.encoder_layers = options.decoder_layers = blocks;
    const Model model(options);
    TapeArguments arguments = TapeArguments::inference();
    arguments.record = record;
    pool::trim();
    const std::size_t before = pool::statistics().bytes_held;
    Tape tape(arguments);
    values[record ? 1 : 0] = example.hidden(model.transformer, tape).value();
    return static_cast<double>(pool::statistics().bytes_held - before);
  };
  const double few = bytes(2, false), many = bytes(8, false), all = bytes(8, true);
  CHECK(many < 1.2 * few);
  CHECK(all > 3 * many);
  CHECK(test::largest_difference(values[0], values[1]) == 0);
}

TEST_CASE("input that does not fit is refused") {
  TransformerOptions options = small_options();
  options.positions = test::learned_positions({4});
  const Model model(options);
  const Example example;
  Tape tape;
  CHECK(message_of([&] { example.encoded(model.transformer, tape); }) ==
        "positions: a sequence of 5 positions exceeds positions.max_length = 4");
  const std::vector<std::int32_t> ids = {3, 9};
  CHECK(message_of([&] {
          model.transformer.encode(tape, {ids, 1, 2}, {2});
        }) == "source_embedding: embedding_with_positions: id 9 is not in [0, 9)");
  const std::vector<std::int32_t> fine = {3, 8};
  CHECK(message_of([&] {
          model.transformer.encode(tape, {fine, 1, 2}, {3});
        }) == "encoder.0.self_attention: attention: key length 3 exceeds the 2 keys");
  CHECK(message_of([&] {
          model.transformer.encode(tape, {fine, 1, 2}, {2, 2});
        }) == "encoder.0.self_attention: attention: 2 key lengths for a batch of 1");
}

}  // namespace
}  // namespace surd
