#include "layers/decoder.hpp"

#include "layers/check_decoding.hpp"
#include "tests/layers/models.hpp"

#include <doctest/doctest.h>

// Decoding step by step against decoding at once.

namespace surd {
namespace {

using test::contains;
using test::decoder_only;
using test::Example;
using test::learned_positions;
using test::message_of;
using test::Model;
using test::relative_difference;
using test::rounding;
using test::small_options;
using test::state;
using test::varied_options;

/// Adds a bias that depends on a query's row, and forgets where the first row stands.
class ForgetfulAttention : public MultiHeadAttention {
 public:
  using Options = MultiHeadOptions;
  using MultiHeadAttention::MultiHeadAttention;

 protected:
  Variable at_positions(Variable x, std::size_t heads, std::size_t) const override { return rotary(x, heads, 0, 100); }
};

/// Lets a query see the other rows of its batch, where they are ragged.
class CuriousAttention : public MultiHeadAttention {
 public:
  using Options = MultiHeadOptions;
  using MultiHeadAttention::MultiHeadAttention;

 protected:
  Variable forward(Variable queries, const Memory& memory, const AttentionMask& mask,
                   std::size_t first_position) const override {
    AttentionMask other = mask;
    other.query_rows = other.key_rows = nullptr;
    return MultiHeadAttention::forward(queries, memory, other, first_position);
  }
};

std::vector<std::int32_t> column(const Example& example, std::size_t t) {
  std::vector<std::int32_t> tokens;
  for (std::size_t b = 0; b < example.size; ++b) tokens.push_back(example.target_input[b * example.target_length + t]);
  return tokens;
}

TEST_CASE("decoding step by step gives the hidden states of decode()") {
  for (const TransformerOptions& options : varied_options()) {
    Model model(options);
    test::perturb(model.parameters);
    const Example example;
    Tape tape;
    const Tensor whole = example.hidden(model.transformer, tape).value();
    for (const bool record : {false, true}) {
      TapeArguments tape_options;
      tape_options.record = record;
      Tape stepping(tape_options);
      DecoderCache cache = example.start(model.transformer, stepping);
      for (std::size_t t = 0; t < example.target_length; ++t) {
        stepping.reset(tape_options);
        const Tensor step = model.transformer.step(stepping, column(example, t), cache).value();
        CHECK(step.shape() == Shape{3, 1, 16});
        CHECK(cache.length == t + 1);
        for (std::size_t b = 0; b < example.size; ++b)
          CHECK(relative_difference(state(step, b, 0), state(whole, b, t)) < rounding);
      }
    }
  }
}

TEST_CASE("a decoder alone gives each target what the whole sequence, by itself and without padding, gives") {
  for (const TransformerOptions& options : varied_options()) {
    Model model(decoder_only(options));
    test::perturb(model.parameters);
    const Example example;
    Tape tape, alone;
    const Tensor together = example.hidden(model.transformer, tape).value();
    REQUIRE(together.shape() == Shape{3, 4, 16});
    for (std::size_t b = 0; b < example.size; ++b) {
      const auto row = [&](const std::vector<std::int32_t>& ids, std::size_t length, std::size_t count) {
        const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(b * length);
        return std::vector<std::int32_t>(begin, begin + static_cast<std::ptrdiff_t>(count));
      };
      const auto source = row(example.source, example.source_length, example.source_lengths[b]);
      const auto target = row(example.target_input, example.target_length, example.target_lengths[b]);
      alone.clear();
      const Tensor own =
          model.transformer.hidden(alone, {source, 1, source.size()}, {}, {target, 1, target.size()}).value();
      for (std::size_t t = 0; t < target.size(); ++t)
        CHECK(relative_difference(state(together, b, t), state(own, 0, t)) < rounding);
    }
  }
}

TEST_CASE("a decoder alone gives targets without a source what it gives them a position at a time") {
  for (const TransformerOptions& options : varied_options()) {
    Model model(decoder_only(options));
    test::perturb(model.parameters);
    const Example example;
    Tape tape, steps;
    const std::vector<std::size_t> none(example.size, 0);
    const Tensor together =
        model.transformer.hidden(tape, {{}, example.size, 0}, none, example.target_tokens()).value();
    REQUIRE(together.shape() == Shape{3, 4, 16});
    DecoderCache cache = model.transformer.start(steps, {{}, example.size, 0}, none);
    for (std::size_t t = 0; t < example.target_length; ++t) {
      const Tensor step = model.transformer.step(steps, column(example, t), cache).value();
      for (std::size_t b = 0; b < example.size; ++b)
        if (t < example.target_lengths[b])
          CHECK(relative_difference(state(step, b, 0), state(together, b, t)) < rounding);
    }
  }
}

TEST_CASE("a decoder alone gives each text of a row what it gives it alone") {
  const std::vector<std::int32_t> row = {1, 5, 3, 6, 1, 1, 7, 8, 0, 0}, places = {0, 1, 2, 3, 0, 0, 1, 2, 0, 0};
  const std::vector<std::pair<std::size_t, std::size_t>> texts = {{0, 4}, {4, 5}, {5, 8}};
  for (const TransformerOptions& varied : varied_options()) {
    TransformerOptions options = decoder_only(varied);
    if (options.positions.name() == "learned") options.positions = learned_positions({4});  // enough for each
    Model model(options);
    test::perturb(model.parameters);
    Tape tape, alone;
    const Tensor together = model.transformer.hidden(tape, {{}, 1, 0}, {}, {row, 1, row.size(), places}).value();
    for (const auto& [begin, end] : texts) {
      const std::vector<std::int32_t> text(row.begin() + static_cast<std::ptrdiff_t>(begin),
                                           row.begin() + static_cast<std::ptrdiff_t>(end));
      alone.clear();
      const Tensor own = model.transformer.hidden(alone, {{}, 1, 0}, {}, {text, 1, text.size()}).value();
      for (std::size_t t = begin; t < end; ++t)
        CHECK(relative_difference(state(together, 0, t), state(own, 0, t - begin)) < rounding);
    }
  }
}

TEST_CASE("texts of a row need a decoder alone, and no source") {
  const Example example;
  const Tokens packed{example.target_input, example.size, example.target_length, std::vector<std::int32_t>(12, 0)};
  const std::string told = "a row of targets can hold several documents only where there is no encoder and no source";
  for (const bool alone : {false, true}) {
    Model model(alone ? decoder_only(small_options()) : small_options());
    Tape tape;
    CHECK(contains(
        message_of([&] { model.transformer.hidden(tape, example.source_tokens(), example.source_lengths, packed); }),
        told));
  }
}

TEST_CASE("a decoder alone takes a pair that fits beside one whose padding does not") {
  TransformerOptions options = small_options();
  options.kind = ModelKind::decoder_only;
  options.positions = test::learned_positions({7});
  Model model(options);
  test::perturb(model.parameters);
  const std::vector<std::int32_t> source = {3, 4, 5, 6, 2, 7, 2, 0, 0, 0}, target = {1, 5, 0, 0, 0, 1, 6, 7, 8, 4};
  Tape tape, alone;
  const Tensor together = model.transformer.hidden(tape, {source, 2, 5}, {5, 2}, {target, 2, 5}).value();
  const std::vector<std::int32_t> second = {7, 2}, its_target = {1, 6, 7, 8, 4};
  const Tensor own = model.transformer.hidden(alone, {second, 1, 2}, {2}, {its_target, 1, 5}).value();
  for (std::size_t t = 0; t < 5; ++t) CHECK(relative_difference(state(together, 1, t), state(own, 0, t)) < rounding);
  const std::vector<std::int32_t> longer = {1, 5, 6, 0, 0, 1, 6, 7, 8, 4};
  tape.clear();
  CHECK(contains(message_of([&] {
                   model.transformer.hidden(tape, {source, 2, 5}, {5, 2}, {longer, 2, 5});
                 }),
                 "a source and its target take 8 positions; there are 7"));
}

TEST_CASE("a decoder alone has no parameters of an encoder, and says so") {
  Model model(decoder_only(small_options()));
  for (const Parameter& parameter : model.parameters) {
    CAPTURE(parameter.name);
    CHECK_FALSE(contains(parameter.name, "encoder."));
    CHECK_FALSE(contains(parameter.name, "cross_attention"));
    CHECK_FALSE(contains(parameter.name, "source_embedding"));
  }
  const Example example;
  Tape tape;
  CHECK(message_of([&] { example.encoded(model.transformer, tape); }) ==
        "model: has no encoder: its kind is decoder_only");
  CHECK(contains(message_of([&] { example.start(model.transformer, tape); }), "have one length"));
}

TEST_CASE("an encoder refuses sources that hold nothing") {
  Model model(small_options());
  const Example example;
  Tape tape;
  CHECK(message_of([&] {
          model.transformer.hidden(tape, {{}, example.size, 0}, {}, example.target_tokens());
        }) == "model: a source must hold at least its eos, because the model has an encoder");
}

TEST_CASE("check_decoding tells a model that counts positions wrongly from one that does not") {
  for (const TransformerOptions& varied : varied_options())
    for (const TransformerOptions& options : {varied, decoder_only(varied)}) {
      Model model(options);
      test::perturb(model.parameters);
      const CheckDecodingResult result = check_decoding(model.transformer, Example::vocabulary);
      CAPTURE(result.where);
      CHECK(result.passed);
    }
  TransformerOptions options = small_options();
  attentions().add<ForgetfulAttention>("forgetful", "");
  options.attention.select("forgetful");
  const Model model(options);
  const CheckDecodingResult result = check_decoding(model.transformer, Example::vocabulary);
  CHECK_FALSE(result.passed);
  CHECK(result.worst > 1e-3);
  CHECK_FALSE(contains(result.where, "position 0,"));
}

TEST_CASE("check_decoding tells a layer that does not keep ragged rows apart") {
  attentions().add<CuriousAttention>("curious", "");
  for (TransformerOptions options : {small_options(), decoder_only(small_options())}) {
    options.attention.select("curious");
    const Model model(options);
    const CheckDecodingResult result = check_decoding(model.transformer, Example::vocabulary);
    CHECK_FALSE(result.passed);
    CHECK(contains(result.where, ", without padding"));
  }
}

TEST_CASE("a cache grows in place, and longer than its first room") {
  constexpr std::size_t length = 40;
  for (const std::size_t i : {0, 4, 5, 6}) {  // as they come, multi-query, rotary, ALiBi
    CAPTURE(i);
    Model model(varied_options()[i]);
    test::perturb(model.parameters);
    random::Sequence draw(random::Stream(1, "test", "tokens"));
    std::vector<std::int32_t> target(2 * length);
    for (std::int32_t& token : target) token = static_cast<std::int32_t>(draw.integer(Example::vocabulary));
    const Example example = Example().rows(0, 2);
    TapeArguments forward_only;
    forward_only.record = false;
    Tape tape(forward_only), stepping(forward_only);
    const Tensor whole =
        model.transformer.hidden(tape, example.source_tokens(), example.source_lengths, {target, 2, length}).value();
    DecoderCache cache = example.start(model.transformer, stepping);
    std::size_t moves = 0;
    for (std::size_t t = 0; t < length; ++t) {
      stepping.reset(forward_only);
      const Real* place = cache.blocks[0].self_keys.data();
      // The rows change places at every seventh step, and back.
      const bool swapped = t % 7 == 3;
      if (swapped) cache.select({1, 0});
      std::vector<std::int32_t> last = {target[t], target[length + t]};
      if (swapped) std::swap(last[0], last[1]);
      const Tensor step = model.transformer.step(stepping, last, cache).value();
      for (std::size_t b = 0; b < 2; ++b)
        CHECK(relative_difference(state(step, swapped ? 1 - b : b, 0), state(whole, b, t)) < rounding);
      if (swapped)
        cache.select({1, 0});
      else if (cache.blocks[0].self_keys.data() != place)
        ++moves;
    }
    CHECK(moves <= 3);  // to 16, 32 and 64 positions
  }
}

TEST_CASE("a cache's rows can be selected, repeated and reordered between steps") {
  const Example example;
  Model model(varied_options()[1]);
  Tape tape;
  const Tensor whole = example.hidden(model.transformer, tape).value();
  DecoderCache cache = example.start(model.transformer, tape);
  model.transformer.step(tape, column(example, 0), cache);
  const std::vector<std::size_t> rows = {1, 0, 1, 1};
  cache.select(rows);
  CHECK(cache.source_lengths == std::vector<std::size_t>{3, 5, 3, 3});
  std::vector<std::int32_t> tokens;
  for (const std::size_t row : rows) tokens.push_back(column(example, 1)[row]);
  const Tensor step = model.transformer.step(tape, tokens, cache).value();
  for (std::size_t i = 0; i < rows.size(); ++i)
    CHECK(relative_difference(state(step, i, 0), state(whole, rows[i], 1)) < rounding);
  CHECK(message_of([&] { cache.select({4}); }) == "DecoderCache: cannot select row 4 of 4");
}

TEST_CASE("rows that go on with the same sources leave what is kept of these where it is") {
  const Example example;
  const Model model(varied_options()[1]);
  Tape tape;
  DecoderCache cache = example.start(model.transformer, tape);
  cache.select({0, 0, 1, 1});
  model.transformer.step(tape, {1, 2, 3, 4}, cache);
  DecoderCache selected = cache;
  const Real* keys = selected.blocks[0].source_keys.data();
  const std::vector<std::size_t> rows = {1, 0, 3, 3};
  selected.select(rows);
  CHECK(selected.blocks[0].source_keys.data() == keys);
  const Tensor expected = model.transformer.step(tape, {5, 6, 7, 8}, cache).value();
  const Tensor step = model.transformer.step(tape, {6, 5, 8, 8}, selected).value();
  for (std::size_t i = 0; i < rows.size(); ++i)
    CHECK(relative_difference(state(step, i, 0), state(expected, rows[i], 0)) < rounding);
}

TEST_CASE("a cache without source lengths can be selected from as well") {
  const Example example;
  Model model(small_options());
  Tape tape;
  DecoderCache cache = model.transformer.start(tape, example.source_tokens(), {});
  cache.select({2, 2});
  CHECK(model.transformer.step(tape, {1, 1}, cache).shape() == Shape{2, 1, 16});
}

}  // namespace
}  // namespace surd
