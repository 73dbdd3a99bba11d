#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

using test::decoder_only;
using test::Example;
using test::message_of;
using test::Model;
using test::relative_difference;
using test::rounding;
using test::small_options;
using test::state;
using test::varied_options;

Variable ragged_hidden(const Transformer& model, Tape& tape, const Example& example) {
  return model.ragged_hidden(tape, example.source_tokens(), example.source_lengths, example.target_tokens(),
                             example.target_lengths);
}

RaggedRows rows_of(const Example& example) { return {example.target_lengths, example.target_length}; }

/// What differs between training without padding and with it, at positions that are no padding and in gradients.
void check_against_padded(Model& model, const TapeArguments& arguments) {
  const Example example;
  const RaggedRows rows = rows_of(example);
  Tape padded(arguments);
  const Variable whole = example.hidden(model.transformer, padded);
  const auto expected = Tensor(whole.value());
  padded.backward(model.transformer.loss(whole, example.target_output, example.loss_arguments()));

  std::vector<GradientSum> gradients = model.parameters.make_gradients();
  TapeArguments others = arguments;
  others.gradients = &gradients;
  Tape tape(others);
  const Variable ragged = ragged_hidden(model.transformer, tape, example);
  REQUIRE(ragged.shape() == Shape{1, rows.positions(), expected.shape()[2]});
  for (std::size_t b = 0; b < rows.count(); ++b)
    for (std::size_t t = 0; t < rows.length(b); ++t)
      CHECK(relative_difference(state(ragged.value(), 0, rows.begin(b) + t), state(expected, b, t)) < rounding);
  tape.backward(model.transformer.loss(ragged, rows.taken_from(example.target_output), example.loss_arguments()));
  for (const Parameter& parameter : model.parameters) {
    CAPTURE(parameter.name);
    const GradientSum& sum = gradients[parameter.index];
    CHECK(sum.empty == parameter.gradient.empty);
    if (sum.empty || parameter.name.find("key.bias") != std::string::npos) continue;  // softmax ignores it
    CHECK(relative_difference(sum.sum, parameter.gradient.sum) < 10 * rounding);
  }
}

TEST_CASE("without padding a model computes the same states and gradients, with every kind of layer") {
  std::vector<TransformerOptions> all = varied_options();
  for (const TransformerOptions& options : varied_options()) all.push_back(decoder_only(options));
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    Model model(all[i]);
    test::perturb(model.parameters);
    check_against_padded(model, {});
  }
}

/// Turns queries and keys also where they are of two sequences.
class TurningAttention : public MultiHeadAttention {
 public:
  using Options = MultiHeadOptions;
  using MultiHeadAttention::MultiHeadAttention;

 protected:
  Variable at_positions(Variable x, std::size_t heads, std::size_t first_position) const override {
    return rotary(x, heads, first_position, 100);
  }
};

TEST_CASE("a layer of one's own finds the positions of queries and of keys") {
  attentions().add<TurningAttention>("turning", "");
  TransformerOptions options = small_options();
  options.attention.select("turning");
  Model model(options);
  test::perturb(model.parameters);
  check_against_padded(model, {});
}

TEST_CASE("without padding the same elements are dropped") {
  TransformerOptions options = small_options();
  options.dropout = 0.3;
  options.feed_forward = test::feed_forward({12, Activation::relu, 0.3});
  TapeArguments arguments;
  arguments.seed = 7;
  arguments.first_row = 2;
  for (const TransformerOptions& each : {options, decoder_only(options)}) {
    Model model(each);
    check_against_padded(model, arguments);
  }
}

TEST_CASE("a batch without padding gives the same however it is cut into replicas, attention dropout included") {
  TransformerOptions options = small_options();
  options.dropout = 0.3;
  MultiHeadOptions dropping;
  dropping.dropout = 0.3;
  options.attention = test::attention(dropping);
  for (const TransformerOptions& each : {options, decoder_only(options)}) {
    Model model(each);
    const Example example;
    const RaggedRows rows = rows_of(example);
    Tape whole;
    const Tensor all = ragged_hidden(model.transformer, whole, example).value();
    for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 3}}) {
      TapeArguments arguments;
      arguments.first_row = begin;
      Tape tape(arguments);
      const Tensor part = ragged_hidden(model.transformer, tape, example.rows(begin, end)).value();
      for (std::size_t i = 0; i < part.shape()[1]; ++i)
        CHECK(relative_difference(state(part, 0, i), state(all, 0, rows.begin(begin) + i)) < rounding);
    }
  }
}

TEST_CASE("an observer sees rows without padding as it sees padded ones") {
  for (std::size_t i = 0; i < 2 * varied_options().size(); ++i) {
    CAPTURE(i);
    const Model model(varied_options()[i / 2]);
    const Example example = i % 2 == 0 ? Example() : Example().rows(1, 3);  // without the longest source
    test::Recorder padded, ragged;
    TapeArguments arguments;
    arguments.observer = &padded;
    Tape padded_tape(arguments);
    example.hidden(model.transformer, padded_tape);
    arguments.observer = &ragged;
    Tape ragged_tape(arguments);
    ragged_hidden(model.transformer, ragged_tape, example);
    const auto compare = [&](const std::string& key, const std::vector<std::size_t>& lengths) {
      CAPTURE(key);
      const Tensor &expected = padded.values.at(key).front(), &seen = ragged.values.at(key).front();
      REQUIRE(seen.shape() == expected.shape());
      const bool of_attention = seen.dimension() == 4;
      const std::size_t heads = of_attention ? seen.shape()[1] : 1, length = seen.shape()[of_attention ? 2 : 1];
      const std::size_t width = row_length(seen);
      for (std::size_t row = 0; row < row_count(seen); ++row) {
        const std::size_t b = row / length / heads, t = row % length;
        for (std::size_t j = 0; j < width; ++j) {
          const Real value = seen.data()[row * width + j], other = expected.data()[row * width + j];
          if (t >= lengths[b])
            CHECK((value == 0 || std::isnan(value)));
          else if (std::isnan(other))  // a hidden key
            CHECK(std::isnan(value));
          else
            CHECK(std::fabs(static_cast<double>(value - other)) < 1e-4);
        }
      }
    };
    for (const char* what : {"scores", "weights"}) {
      compare(fmt::format("encoder.0.self_attention: {}", what), example.source_lengths);
      compare(fmt::format("decoder.0.cross_attention: {}", what), example.target_lengths);
    }
    for (const char* what : {"skip", "branch", "sum"})
      compare(fmt::format("encoder.0.feed_forward_residual: {}", what), example.source_lengths);
    const std::string embedding = model.has("source_embedding.weight") ? "source_embedding" : "target_embedding";
    compare(embedding + ": tokens", example.source_lengths);
    if (padded.values.count(embedding + ": positions") == 0) continue;
    const Tensor &seen = ragged.values.at(embedding + ": positions").front(),
                 &expected = padded.values.at(embedding + ": positions").front();
    REQUIRE(seen.shape() == expected.shape());
    const std::size_t longest = *std::max_element(example.source_lengths.begin(), example.source_lengths.end());
    for (std::size_t j = 0; j < longest * row_length(seen); ++j) CHECK(seen.data()[j] == expected.data()[j]);
  }
}

TEST_CASE("ragged rows that do not fit are refused") {
  const Model model(small_options()), alone(decoder_only(small_options()));
  const Example example;
  Tape tape;
  const auto with = [&](const Model& of, std::vector<std::size_t> source_lengths,
                        std::vector<std::size_t> target_lengths) {
    return message_of([&] {
      of.transformer.ragged_hidden(tape, example.source_tokens(), source_lengths, example.target_tokens(),
                                   target_lengths);
    });
  };
  CHECK(with(model, {5, 3}, {3, 4, 1}) == "model: 3 sources with 2 lengths, 3 targets with 3");
  const std::vector<std::int32_t> places(3 * 4, 0);  // of packed documents
  Tokens packed = example.target_tokens();
  packed.places = places;
  CHECK(message_of([&] {
          model.transformer.ragged_hidden(tape, example.source_tokens(), {5, 3, 4}, packed, {3, 4, 1});
        }) == "model: ragged rows hold no packed documents");
  CHECK(with(model, {5, 3, 6}, {3, 4, 1}) == "ragged rows: a row of 6 positions; takes 1 to 5");
  CHECK(with(model, {5, 3, 4}, {3, 4, 0}) == "ragged rows: a row of 0 positions; takes 1 to 4");
  CHECK(with(alone, {5, 3, 6}, {3, 4, 1}) == "model: a source of 6 tokens among 5, a target of 1 among 4");
  CHECK(message_of([] { RaggedRows({}, 3); }) == "ragged rows: there are none");
  CHECK(message_of([] {
          RaggedRows({2, 1}, 3).taken_from(std::vector<int>(5));
        }) == "ragged rows: 5 elements for 2 rows of 3");
  CHECK(message_of([] {
          RaggedRows({2, 1}, 3).padded(std::vector<int>(6));
        }) == "ragged rows: 6 elements for 3 positions");
}

}  // namespace
}  // namespace surd
