#include "tests/tensors.hpp"
#include "tests/train/probe/watched_pass.hpp"
#include "train/optimizers/sgd.hpp"
#include "train/probe/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

// What the probe records of gradients and updates.

namespace surd {
namespace {

using doctest::Approx;
using test::batch_of;
using test::random_pairs;
using test::tensor_of;
using test::Toy;
using test::WatchedPass;

TEST_CASE("the two sides of a tied matrix's gradient add up to the whole") {
  const Batch batch = batch_of(random_pairs(6, 1, 5, 7));
  for (const Tie tie : {Tie::decoder, Tie::all}) {
    TransformerOptions options = test::toy_options();
    options.embedding.tie = tie;
    Toy toy(Vocabulary::specials + 7, options);
    const WatchedPass watched(toy, batch);
    test::Recorder recorder;
    test::pass(toy, batch, &recorder);
    const Tensor& whole = toy.parameters.find("target_embedding.weight").gradient.sum;
    const Tensor& output = recorder.only("target_embedding.weight: gradient_from_logits");
    Tensor input = zeros(whole.shape());
    const auto& inputs = recorder.values.at("target_embedding.weight: gradient_from_lookups");
    CHECK(inputs.size() == (tie == Tie::all ? 2 : 1));
    for (const Tensor& one : inputs)
      for (std::size_t i = 0; i < input.size(); ++i) input.data()[i] += one.data()[i];
    Tensor sum = input;
    for (std::size_t i = 0; i < sum.size(); ++i) sum.data()[i] += output.data()[i];
    CHECK(test::relative_difference(sum, whole) < test::rounding);
    const auto recorded = [&](const char* statistic) {
      return watched.number("target_embedding.weight", "parameter", statistic);
    };
    CHECK(recorded("gradient_norm") == Approx(norm(sum)).epsilon(1e-5));
    CHECK(recorded("gradient_norm_input") == Approx(norm(input)).epsilon(1e-5));
    CHECK(recorded("gradient_norm_output") == Approx(norm(output)).epsilon(1e-5));
  }
}

TEST_CASE("an untied matrix has one side") {
  TransformerOptions options = test::toy_options();
  options.embedding.tie = Tie::none;
  Toy toy(Vocabulary::specials + 7, options);
  const WatchedPass watched(toy, batch_of(random_pairs(6, 1, 5, 7)));
  CHECK(watched.count("target_embedding.weight", "parameter", "gradient_norm") == 1);
  CHECK(watched.count("target_embedding.weight", "parameter", "gradient_norm_input") == 0);
  CHECK(watched.count("target_embedding.weight", "parameter", "gradient_norm_output") == 0);
}

/// Shows the probe that a side of the model looks rows of a matrix up.
void look_up(Probe& probe, const std::string& matrix, ModelSide side) {
  probe.see({Event::Kind::quantity, matrix, "gradient_from_lookups", side, full({1}, 0)});
}

/// The numbers of `path` that updated() records.
std::vector<std::string> updates_of(const Probe& probe, const std::string& path) {
  std::vector<std::string> lines;
  for (const Probe::Record& r : probe.records())
    if (r.path == path) lines.push_back(fmt::format("{} {} {:.4f}", r.what, r.statistic, r.number));
  return lines;
}

TEST_CASE("update ratios are the step over the weight, of embeddings by whether a row was looked up") {
  ParameterSet parameters;
  parameters.add("target_embedding.weight", tensor_of({4, 1}, {3, 4, 6, 8}));
  parameters.add("source_embedding.weight", tensor_of({4, 1}, {3, 4, 6, 8}));
  parameters.add("encoder.bias", tensor_of({1}, {0}));
  parameters.add("encoder.weight", tensor_of({1, 2}, {3, 4}));
  Batch batch;
  batch.size = 1;
  batch.source_length = batch.target_length = 3;
  batch.source = {3, 3, 0};
  batch.target_input = {1, 2, 0};
  batch.target_output = {2, 2, 0};
  batch.source_lengths = batch.target_lengths = {2};  // padding is not looked up
  Probe probe;
  probe.watch(0, batch);
  batch.source = {2, 3, 0};
  probe.watch(1, batch);  // all batches of an update count
  look_up(probe, "target_embedding.weight", ModelSide::target);
  look_up(probe, "source_embedding.weight", ModelSide::source);
  probe.parameters(parameters);
  CHECK(probe.take_records().size() == 4);
  for (Parameter& parameter : parameters)
    for (Real& value : parameter.value) value -= Real(0.5);
  probe.updated(parameters);
  using Lines = std::vector<std::string>;
  const auto ratio = [](const char* statistic, double steps, double weights) {
    return fmt::format("parameter {} {:.4f}", statistic, std::sqrt(steps / weights));
  };
  CHECK(updates_of(probe, "target_embedding.weight") == Lines{ratio("update_ratio", 1, 125),
                                                              ratio("update_ratio_touched", 0.5, 16 + 36),
                                                              ratio("update_ratio_untouched", 0.5, 9 + 64)});
  CHECK(updates_of(probe, "source_embedding.weight") == Lines{ratio("update_ratio", 1, 125),
                                                              ratio("update_ratio_touched", 0.5, 36 + 64),
                                                              ratio("update_ratio_untouched", 0.5, 9 + 16)});
  CHECK(updates_of(probe, "encoder.weight") == Lines{ratio("update_ratio", 0.5, 25)});
  CHECK(updates_of(probe, "encoder.bias").empty());  // of zero there is no share
}

TEST_CASE("a matrix of both sides is touched by either") {
  using Sides = std::vector<ModelSide>;
  for (const Sides& sides : {Sides{ModelSide::source, ModelSide::target}, Sides{ModelSide::joined}}) {
    ParameterSet parameters;
    parameters.add("target_embedding.weight", tensor_of({3, 1}, {3, 4, 6}));
    Batch batch;
    batch.size = batch.source_length = batch.target_length = 1;
    batch.source = {2};
    batch.target_input = batch.target_output = {1};
    batch.source_lengths = batch.target_lengths = {1};
    Probe probe;
    probe.watch(0, batch);
    for (const ModelSide side : sides) look_up(probe, "target_embedding.weight", side);
    probe.parameters(parameters);
    probe.take_records();
    parameters[0].value.data()[0] += 1;
    probe.updated(parameters);
    CHECK(updates_of(probe, "target_embedding.weight") ==
          std::vector<std::string>{fmt::format("parameter update_ratio {:.4f}", 1 / std::sqrt(61.0)),
                                   "parameter update_ratio_touched 0.0000", "parameter update_ratio_untouched 0.3333"});
  }
}

TEST_CASE("the ratio of SGD's step to the weight is the rate times that of the gradient") {
  Toy toy(Vocabulary::specials + 7);
  SgdOptions settings;
  settings.learning_rate = 0.25;
  Sgd optimizer(toy.parameters, settings);
  WatchedPass watched(toy, batch_of(random_pairs(6, 1, 5, 7)));
  optimizer.step(1, 1);
  watched.probe.updated(toy.parameters);
  for (const char* name : {"encoder.0.feed_forward.inner.weight", "target_embedding.weight"}) {
    const auto recorded = [&](const char* statistic) { return watched.number(name, "parameter", statistic); };
    CHECK(recorded("update_ratio") == Approx(0.25 * recorded("gradient_norm") / recorded("norm")).epsilon(1e-3));
  }
}

TEST_CASE("noise is recorded, its scale where both parts are positive") {
  Probe probe;
  probe.noise({2, 6});
  REQUIRE(probe.records().size() == 3);
  CHECK(probe.records()[2].path == "model");
  CHECK(probe.records()[2].what == "gradient");
  CHECK(probe.records()[2].statistic == "noise_scale");
  CHECK(probe.records()[2].number == 3);
  probe.clear();
  probe.noise({-2, 6});
  CHECK(probe.records().size() == 2);
  probe.clear();
  probe.noise({std::numeric_limits<double>::infinity(), 6});
  CHECK(probe.records().empty());
}

}  // namespace
}  // namespace surd
