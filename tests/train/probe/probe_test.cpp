#include "train/probe/probe.hpp"

#include "tests/train/toy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace surd {
namespace {

using doctest::Approx;
using test::tensor_of;

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
  probe.value("a.b", "linear", tensor_of({2, 2}, {1, -1, 1, 5}));
  CHECK(only(probe, "linear", "rms") == Approx(std::sqrt(7.0)));
}

TEST_CASE("gradients are recorded as their rms") {
  Probe probe;
  probe.gradient("a.b", "linear", tensor_of({3}, {2, -1, 2}));
  CHECK(only(probe, "linear", "gradient_rms") == Approx(std::sqrt(3.0)));
}

TEST_CASE("scores are recorded as their standard deviation and maximum") {
  Probe probe;
  probe.value("a.b", "scores", tensor_of({1, 1, 2, 2}, {1, 2, 3, 6}));
  REQUIRE(probe.records().size() == 4);  // of the layer and of its only head
  CHECK(probe.records()[0].statistic == "std");
  CHECK(probe.records()[0].number == Approx(std::sqrt(3.5)));  // squares 50/4, mean 3
  CHECK(probe.records()[1].statistic == "max");
  CHECK(probe.records()[1].number == 6);
  probe.clear();
  probe.value("a.b", "scores", tensor_of({3}, {-7, -7, -7}));
  CHECK(probe.records()[0].number == 0);
  CHECK(probe.records()[1].number == -7);
}

TEST_CASE("scores of hidden keys, marked by NaN, do not count") {
  const double hidden = std::numeric_limits<double>::quiet_NaN();
  Probe probe;
  probe.value("a.b", "scores", tensor_of({1, 2, 2}, {1, hidden, 3, hidden}));
  REQUIRE(probe.records().size() == 2);
  CHECK(probe.records()[0].number == 1);
  CHECK(probe.records()[1].number == 3);
}

double entropy_of(const Tensor& weights) {
  Probe probe;
  probe.value("a.b", "weights", weights);
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
  const auto max_of = [&](Probe probe, const char* path) {
    probe.value(path, "scores", scores);
    return probe.records().at(1).number;
  };
  const auto entropy_at = [&](Probe probe, const char* path) {
    probe.value(path, "weights", weights);
    return probe.records().at(0).number;
  };
  Probe probe;
  CHECK(max_of(probe, "encoder.0.self_attention") == 90);
  Batch batch;  // of three, of which a replica has two
  batch.size = 3;
  batch.source_length = batch.target_length = 9;
  batch.source = batch.target_input = batch.target_output = std::vector<TokenId>(27);
  batch.source_lengths = {2, 1, 9};
  batch.target_lengths = {1, 2, 9};
  CHECK(probe.watch(0, batch) == &probe);
  CHECK(probe.watch(1, batch) == nullptr);  // of all batches of an update alike, the first
  CHECK(max_of(probe, "encoder.0.self_attention") == 50);
  CHECK(max_of(probe, "decoder.0.self_attention") == 90);
  CHECK(max_of(probe, "decoder.0.cross_attention") == 90);
  CHECK(entropy_at(probe, "encoder.0.self_attention") == Approx((1 + uneven + 1) / 3));
  CHECK(entropy_at(probe, "decoder.0.cross_attention") == Approx(1));
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
  probe.value("a.b", "parameter", tensor_of({1}, {1}));
  probe.value("a.b", "constant", tensor_of({1}, {1}));
  probe.value("a.b", "linear", Tensor(Shape{0, 3}));
  CHECK(probe.records().empty());
}

TEST_CASE("a pass through a model gives the places a study asks for") {
  const test::Example example;
  test::Model model(test::small_options());
  Probe probe;
  TapeOptions options;
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
