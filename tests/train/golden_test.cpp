#include "tests/golden/golden.hpp"

#include <doctest/doctest.h>

// The forward pass and every gradient against PyTorch.

namespace surd {
namespace {

using test::Golden;
using test::golden_tolerance;
using test::relative_deviation;

CrossEntropyArguments loss_arguments(const Batch& batch) {
  return {Real(0.1), Vocabulary::pad, static_cast<Real>(batch.target_tokens())};
}

Variable hidden_states(const Golden& golden, Tape& tape, const Batch& batch, Variable* encoded = nullptr) {
  const Variable source =
      golden.model->encode(tape, {batch.source, batch.size, batch.source_length}, batch.source_lengths);
  if (encoded != nullptr) *encoded = source;
  return golden.model->decode({batch.target_input, batch.size, batch.target_length}, source, batch.source_lengths);
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

TEST_CASE("the forward pass agrees with PyTorch") {
  for (const std::string& variant : test::golden_variants) {
    CAPTURE(variant);
    const Golden golden(variant);
    const Batch batch = golden.batch(0);
    CHECK(batch.target_tokens() < batch.size * batch.target_length);  // there is padding
    CHECK(batch.source_tokens() < batch.size * batch.source_length);
    Tape tape;
    Variable encoded;
    const Variable hidden = hidden_states(golden, tape, batch, &encoded);
    const Variable logits = golden.model->logits(hidden);
    const Tensor& loss = golden.tensor("loss");
    CHECK(relative_deviation(encoded.value(), golden.tensor("encoded")) <= golden_tolerance);
    CHECK(relative_deviation(hidden.value(), golden.tensor("hidden")) <= golden_tolerance);
    CHECK(relative_deviation(logits.value(), golden.tensor("logits")) <= golden_tolerance);
    CHECK(relative_deviation(cross_entropy(logits, batch.target_output, loss_arguments(batch)).value(), loss) <=
          golden_tolerance);
    CHECK(relative_deviation(golden.model->loss(hidden, batch.target_output, loss_arguments(batch)).value(), loss) <=
          golden_tolerance);
  }
}

TEST_CASE("every gradient agrees with PyTorch") {
  for (const std::string& variant : test::golden_variants) {
    CAPTURE(variant);
    Golden golden(variant);
    CHECK(golden.count("gradient.") == golden.parameters.size());
    const Batch batch = golden.batch(0);
    Tape tape;
    tape.backward(golden.model->loss(hidden_states(golden, tape, batch), batch.target_output, loss_arguments(batch)));
    for (Parameter& parameter : golden.parameters) {
      CAPTURE(parameter.name);
      CHECK_FALSE(parameter.gradient.empty);
      const Tensor& expected = golden.tensor("gradient." + parameter.name);
      if (!ends_with(parameter.name, ".key.bias")) {
        CHECK(relative_deviation(parameter.gradient.sum, expected) <= golden_tolerance);
        continue;
      }
      // A bias on the keys adds the same to every score of a query, which softmax does not see: this gradient is zero
      // but for rounding, here and there. Its size is judged by the gradient of the keys' weight.
      const Tensor& weight =
          golden.tensor("gradient." + parameter.name.substr(0, parameter.name.size() - 4) + "weight");
      const auto largest = static_cast<double>(*std::max_element(weight.data(), weight.data() + weight.size()));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(std::fabs(static_cast<double>(parameter.gradient.sum.data()[i])) <= golden_tolerance * largest);
        CHECK(std::fabs(static_cast<double>(expected.data()[i])) <= 1e-14);
      }
    }
  }
}

}  // namespace
}  // namespace surd
