#include "experiments/run/run_config.hpp"
#include "tests/golden/golden.hpp"
#include "tests/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// Every preset against the code it follows: what that code computes with given parameters, and how it starts them.
// tests/golden/make_presets.py ran it, and says what of it is compared.

namespace surd {
namespace {

namespace fs = std::filesystem;

const fs::path golden_folder = fs::path(SURD_SOURCE_DIR) / "tests/golden/presets";

/// Biases that are normal there and uniform in surd, as the preset says.
bool has_another_distribution(const std::string& preset, const std::string& parameter) {
  return preset == "flax-wmt" && test::contains(parameter, ".feed_forward.") && test::contains(parameter, ".bias");
}

std::set<std::string> stems(const fs::path& folder) {
  std::set<std::string> result;
  for (const auto& entry : fs::directory_iterator(folder)) result.insert(entry.path().stem().string());
  return result;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// A preset as one of the two parts of its golden file sizes it: "" or "initial_".
struct SizedPreset {
  ParameterSet parameters;
  std::unique_ptr<Transformer> model;

  SizedPreset(const std::string& preset, const test::GoldenFile& golden, const std::string& part, std::uint64_t seed) {
    const std::string path = std::string(SURD_SOURCE_DIR) + "/experiments/presets/" + preset + ".yaml";
    const RunConfig config = load_config(path, words(golden.metadata(part + "settings")));
    model = std::make_unique<Transformer>(Scope(parameters, seed), config.model,
                                          std::stoul(golden.metadata(part + "source_vocabulary")),
                                          std::stoul(golden.metadata(part + "target_vocabulary")));
  }
};

void load(ParameterSet& parameters, const test::GoldenFile& golden) {
  for (Parameter& parameter : parameters) {
    CAPTURE(parameter.name);
    const Tensor& value = golden.tensor("parameter." + parameter.name);
    REQUIRE(value.shape() == parameter.value.shape());
    parameter.value = value;
  }
  CHECK(parameters.size() == golden.count("parameter."));
}

/// A decoder alone is given no sources.
Variable hidden(const Transformer& model, Tape& tape, const Batch& batch) {
  const Tokens target{batch.target_input, batch.size, batch.target_length};
  if (!model.has_encoder()) return model.hidden(tape, {{}, batch.size, 0}, {}, target);
  return model.hidden(tape, {batch.source, batch.size, batch.source_length}, batch.source_lengths, target);
}

/// Sums over the target's tokens: log-probabilities [B, T, V] -> [B]
Tensor scores(const Tensor& log_probabilities, const Batch& batch) {
  const std::size_t vocabulary = log_probabilities.shape().back();
  Tensor sums(Shape{batch.size});
  for (std::size_t b = 0; b < batch.size; ++b) {
    double sum = 0;
    for (std::size_t i = b * batch.target_length; i < b * batch.target_length + batch.target_lengths[b]; ++i)
      sum += static_cast<double>(
          log_probabilities.data()[i * vocabulary + static_cast<std::size_t>(batch.target_output[i])]);
    sums.data()[b] = static_cast<Real>(sum);
  }
  return sums;
}

TEST_CASE("every preset computes what the code it follows computes") {
  for (const std::string& preset : stems(golden_folder)) {
    CAPTURE(preset);
    const test::GoldenFile golden("presets/" + preset + ".safetensors");
    SizedPreset small(preset, golden, "", 1);
    load(small.parameters, golden);
    const Batch batch = golden.batch(0);
    CHECK(batch.target_tokens() < batch.size * batch.target_length);  // there is padding
    CHECK(batch.source_tokens() < batch.size * batch.source_length);
    TapeArguments forward_only;
    forward_only.record = false;
    Tape tape(forward_only);
    Tensor actual = log_softmax(small.model->logits(hidden(*small.model, tape, batch))).value();
    if (golden.count("scores") == 1) {
      CHECK(test::relative_deviation(scores(actual, batch), golden.tensor("scores")) <= test::golden_tolerance);
      continue;
    }
    Tensor expected = golden.tensor("log_probabilities");
    REQUIRE(actual.shape() == expected.shape());
    // What stands behind a target's end is nobody's: originals differ in whether they hide it.
    const std::size_t vocabulary = actual.shape().back();
    for (std::size_t i = 0; i < batch.target_output.size(); ++i)
      if (batch.target_output[i] == Vocabulary::pad)
        for (std::size_t j = 0; j < vocabulary; ++j)
          actual.data()[i * vocabulary + j] = expected.data()[i * vocabulary + j] = 0;
    CHECK(test::relative_deviation(actual, expected) <= test::golden_tolerance);
  }
}

struct InitialValues {
  std::vector<double> values;

  void add(const Tensor& tensor) {
    for (const Real value : tensor) values.push_back(static_cast<double>(value));
  }
  double moment(double centre, int power) const {
    double sum = 0;
    for (const double value : values) sum += std::pow(value - centre, power);
    return sum / static_cast<double>(values.size());
  }
};

TEST_CASE("every preset starts its parameters as the code it follows does") {
  constexpr std::uint64_t seeds = 4;
  constexpr double errors = 5;  // standard errors that two samples of one distribution may differ by
  for (const std::string& preset : stems(golden_folder)) {
    CAPTURE(preset);
    const test::GoldenFile golden("presets/" + preset + ".safetensors");
    std::map<std::string, InitialValues> initial;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const SizedPreset large(preset, golden, "initial_", seed);
      for (const Parameter& parameter : large.parameters) initial[parameter.name].add(parameter.value);
    }
    CHECK(initial.size() == golden.count("initial."));
    for (const auto& [name, drawn] : initial) {
      CAPTURE(name);
      const Tensor& there = golden.tensor("initial." + name);
      const auto number = [&](std::size_t i) { return static_cast<double>(there.data()[i]); };
      const double count = number(0), mean = number(1), deviation = number(2), kurtosis = number(3), zeros = number(4);
      const double mean_here = drawn.moment(0, 1), deviation_here = std::sqrt(drawn.moment(mean_here, 2));
      const auto count_here = static_cast<double>(drawn.values.size());
      const double share = std::sqrt(1 / count + 1 / count_here);
      if (deviation == 0) {  // a constant
        CHECK(deviation_here <= 1e-6 * std::fabs(mean));
        CHECK(mean_here == doctest::Approx(mean).epsilon(1e-6));
        continue;
      }
      CHECK(std::fabs(mean_here - mean) <= errors * deviation * share);
      // The variance of a sample's standard deviation is (kurtosis - 1) / (4 n) of its square, that of a normal
      // sample's kurtosis 24 / n, and a uniform sample's is smaller.
      CHECK(std::fabs(deviation_here / deviation - 1) <= errors * std::sqrt((kurtosis - 1) / 4) * share);
      const double kurtosis_here = drawn.moment(mean_here, 4) / std::pow(deviation_here, 4);
      if (has_another_distribution(preset, name)) {
        CHECK(kurtosis_here < kurtosis);
      } else {
        CHECK(std::fabs(kurtosis_here - kurtosis) <= errors * std::sqrt(24.0) * share);
      }
      const auto zeros_here = static_cast<double>(std::count(drawn.values.begin(), drawn.values.end(), 0.0));
      CHECK(zeros_here / count_here == doctest::Approx(zeros).epsilon(1e-3));  // a row of zeros, or none
    }
  }
}

TEST_CASE("there is a golden file for every preset") {
  CHECK(stems(golden_folder) == stems(fs::path(SURD_SOURCE_DIR) / "experiments/presets"));
}

}  // namespace
}  // namespace surd
