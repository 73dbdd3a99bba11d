#include "train/probe/probe.hpp"

#include "tests/train/toy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace surd {
namespace {

using doctest::Approx;
using test::tensor_of;

/// Shows the probe an event of a module "a.b".
void show(Probe& probe, Event::Kind kind, const char* what, const Tensor& tensor) {
  probe.see({kind, "a.b", what, ModelSide::none, tensor});
}

/// The number of the only record, after checking what it is called.
double only(const Probe& probe, const std::string& what, const std::string& statistic) {
  REQUIRE(probe.records().size() == 1);
  const Probe::Record& record = probe.records()[0];
  CHECK(record.path == "a.b");
  CHECK(record.what == what);
  CHECK(record.statistic == statistic);
  return record.number;
}

TEST_CASE("values are recorded as their rms") {
  Probe probe;
  show(probe, Event::Kind::result, "linear", tensor_of({2, 2}, {1, -1, 1, 5}));
  CHECK(only(probe, "linear", "rms") == Approx(std::sqrt(7.0)));
}

TEST_CASE("gradients are recorded as their rms") {
  Probe probe;
  show(probe, Event::Kind::gradient, "linear", tensor_of({3}, {2, -1, 2}));
  CHECK(only(probe, "linear", "gradient_rms") == Approx(std::sqrt(3.0)));
}

TEST_CASE("scores are recorded as their standard deviation and maximum") {
  Probe probe;
  show(probe, Event::Kind::quantity, "scores", tensor_of({1, 1, 2, 2}, {1, 2, 3, 6}));
  REQUIRE(probe.records().size() == 4);  // of the layer and of its only head
  CHECK(probe.records()[0].statistic == "std");
  CHECK(probe.records()[0].number == Approx(std::sqrt(3.5)));  // squares 50/4, mean 3
  CHECK(probe.records()[1].statistic == "max");
  CHECK(probe.records()[1].number == 6);
  probe.clear();
  show(probe, Event::Kind::quantity, "scores", tensor_of({3}, {-7, -7, -7}));
  CHECK(probe.records()[0].number == 0);
  CHECK(probe.records()[1].number == -7);
}

TEST_CASE("scores of hidden keys, marked by NaN, do not count") {
  const double hidden = std::numeric_limits<double>::quiet_NaN();
  Probe probe;
  show(probe, Event::Kind::quantity, "scores", tensor_of({1, 2, 2}, {1, hidden, 3, hidden}));
  REQUIRE(probe.records().size() == 2);
  CHECK(probe.records()[0].number == 1);
  CHECK(probe.records()[1].number == 3);
}

double entropy_of(const Tensor& weights) {
  Probe probe;
  show(probe, Event::Kind::quantity, "weights", weights);
  CHECK(probe.records().at(0).statistic == "entropy");
  return probe.records()[0].number;
}

TEST_CASE("attention weights are recorded as entropy relative to that of an even look at the same keys") {
  CHECK(entropy_of(tensor_of({1, 4}, {0.25, 0.25, 0.25, 0.25})) == Approx(1));
  CHECK(entropy_of(tensor_of({1, 4}, {0.5, 0.5, 0, 0})) == Approx(1));  // two keys are seen, evenly
  const double uneven = -(0.75 * std::log(0.75) + 0.25 * std::log(0.25)) / std::log(2.0);
  CHECK(entropy_of(tensor_of({1, 4}, {0, 0.75, 0.25, 0})) == Approx(uneven));
  // A row that sees one key has no choice: it does not count.
  CHECK(entropy_of(tensor_of({1, 3, 2}, {1, 0, 0.5, 0.5, 0.75, 0.25})) == Approx((1 + uneven) / 2));
  CHECK(entropy_of(tensor_of({2, 2}, {1, 0, 0, 0})) == 0);
}

TEST_CASE("attention of padded queries does not count, by the lengths of the side they are on") {
  // Two rows of the batch, one head, two queries, two keys; the second row's second query is padding in the source, the
  // first row's in the target.
  const Tensor scores = tensor_of({2, 1, 2, 2}, {1, 1, 50, 3, 7, 7, 90, 2});
  const Tensor weights = tensor_of({2, 1, 2, 2}, {0.5, 0.5, 0.75, 0.25, 0.5, 0.5, 1, 0});
  const double uneven = -(0.75 * std::log(0.75) + 0.25 * std::log(0.25)) / std::log(2.0);
  const auto first_of = [](Probe& probe, const char* statistic, const Event& event) {
    probe.take_records();
    probe.see(event);
    for (const Probe::Record& record : probe.records())
      if (record.statistic == statistic) return record.number;
    return -1.0;
  };
  const auto max_on = [&](Probe& probe, ModelSide side) {
    return first_of(probe, "max", {Event::Kind::quantity, "a", "scores", side, scores});
  };
  const auto entropy_on = [&](Probe& probe, ModelSide side) {  // of a layer whose scores were not shown
    return first_of(probe, "entropy", {Event::Kind::quantity, "b", "weights", side, weights});
  };
  Probe probe;
  CHECK(max_on(probe, ModelSide::source) == 90);
  Batch batch;  // of three, of which a replica has two
  batch.size = 3;
  batch.source_length = batch.target_length = 9;
  batch.source = batch.target_input = batch.target_output = std::vector<TokenId>(27);
  batch.source_lengths = {2, 1, 9};
  batch.target_lengths = {1, 2, 9};
  CHECK(probe.watch(0, batch) == &probe);
  CHECK(probe.watch(1, batch) == nullptr);  // of all batches of an update alike, the first
  CHECK(max_on(probe, ModelSide::source) == 50);
  CHECK(max_on(probe, ModelSide::target) == 90);
  CHECK(max_on(probe, ModelSide::joined) == 90);
  CHECK(max_on(probe, ModelSide::none) == 90);
  CHECK(entropy_on(probe, ModelSide::source) == Approx((1 + uneven + 1) / 3));
  CHECK(entropy_on(probe, ModelSide::target) == Approx(1));
}

TEST_CASE("of an op's value without padding every position counts") {
  Batch batch;
  batch.size = 2;
  batch.source_lengths = batch.target_lengths = {2, 1};
  ProbedUpdate update;
  update.batch(0, batch);
  const std::string path = "a";
  const RaggedRows rows({2, 1}, 2);
  const Tensor padded = full({2, 2, 4}, 1), ragged = full({1, 3, 4}, 1);
  const Event of_padded{Event::Kind::quantity, path, "sum", ModelSide::source, padded};
  CHECK(update.positions(of_padded)(1, 0));
  CHECK_FALSE(update.positions(of_padded)(1, 1));
  const Event of_ragged{Event::Kind::result, path, "linear", ModelSide::source, ragged, &rows};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(update.positions(of_ragged)(0, i));
    CHECK(update.begins(of_ragged)(0, i) == (i != 1));
  }
}

TEST_CASE("an inner quantity that has no entry in the table is recorded as its rms") {
  Probe probe;
  show(probe, Event::Kind::quantity, "gate", tensor_of({2}, {1, 7}));
  CHECK(only(probe, "gate", "rms") == 5);
}

TEST_CASE("a program adds a quantity by one entry of the table") {
  probe_quantities().push_back([](ProbedUpdate& update) {
    update.on("gate", [&update](const Event& gate) {
      update.record(gate.path, "gate", "first", static_cast<double>(gate.tensor.data()[0]));
    });
  });
  Probe probe;
  probe_quantities().pop_back();
  show(probe, Event::Kind::quantity, "gate", tensor_of({2}, {3, 7}));
  CHECK(only(probe, "gate", "first") == 3);
}

TEST_CASE("how many of the update's pairs were watched is recorded") {
  Probe probe;
  Batch batch;
  batch.size = 5;
  batch.source_lengths = batch.target_lengths = std::vector<std::size_t>(5);
  probe.watch(0, batch);
  probe.watch(1, batch);
  const Tensor tokens = full({3, 2, 4}, 1);  // of a replica's slice of the first batch
  probe.see({Event::Kind::quantity, "embedding", "tokens", ModelSide::source, tokens});
  probe.see({Event::Kind::quantity, "embedding", "tokens", ModelSide::target, tokens});
  probe.take_records();
  probe.parameters({});
  REQUIRE(probe.records().size() == 2);
  for (const Probe::Record& record : probe.records()) {
    CHECK(record.path == "model");
    CHECK(record.what == "coverage");
    CHECK(record.number == (record.statistic == "pairs" ? 3 : 10));
  }
}

TEST_CASE("parameters are recorded as norms, with their gradients' where they have one") {
  ParameterSet parameters;
  test::set_gradient(parameters.add("a", tensor_of({2}, {3, 4})), tensor_of({2}, {-5, 12}));
  parameters.add("b", tensor_of({1}, {-2}));
  Probe probe;
  probe.parameters(parameters);
  std::vector<std::string> lines;
  for (const Probe::Record& r : probe.records())
    lines.push_back(fmt::format("{} {} {} {}", r.path, r.what, r.statistic, r.number));
  CHECK(lines == std::vector<std::string>{"a parameter norm 5", "a parameter gradient_norm 13", "b parameter norm 2"});
}

TEST_CASE("leaves and empty values are not recorded") {
  Probe probe;
  show(probe, Event::Kind::leaf, "parameter", tensor_of({1}, {1}));
  show(probe, Event::Kind::leaf, "constant", tensor_of({1}, {1}));
  show(probe, Event::Kind::result, "linear", Tensor(Shape{0, 3}));
  CHECK(probe.records().empty());
}

TEST_CASE("a pass through a model gives the places a study asks for") {
  const test::Example example;
  test::Model model(test::small_options());
  Probe probe;
  TapeArguments options;
  options.observer = &probe;
  Tape tape(options);
  tape.backward(example.loss(model.transformer, tape));
  const auto number = [&](const std::string& path, const std::string& what, const std::string& statistic) {
    std::vector<double> found;
    for (const Probe::Record& r : probe.records())
      if (r.path == path && r.what == what && r.statistic == statistic) found.push_back(r.number);
    CAPTURE(path);
    REQUIRE(found.size() == 1);
    return found[0];
  };
  for (const char* path : {"encoder.0.self_attention", "decoder.0.self_attention", "decoder.0.cross_attention"}) {
    CHECK(number(path, "scores", "std") > 0);
    CHECK(std::isfinite(number(path, "scores", "max")));
    CHECK(number(path, "weights", "entropy") > 0);
    CHECK(number(path, "weights", "entropy") <= 1);
    CHECK(number(path, "attention", "gradient_rms") > 0);
  }
}

}  // namespace
}  // namespace surd
