#include "../../data/temporary_directory.hpp"
#include "../program.hpp"
#include "experiments/run/run_config.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

// R1, the ledger: what every preset's embeddings and positions measure at the start, against the formulas of the code
// bases they follow, at every width from 16 to 512.

namespace surd {
namespace {

namespace fs = std::filesystem;

const fs::path presets = fs::path(SURD_SOURCE_DIR) / "experiments/presets";

constexpr std::size_t rows = 4000;  // of a vocabulary, and positions: sampling moves an rms by 0.4 % at most
const double root_half = std::sqrt(0.5);

/// What the two parts of the input measure, as functions of d_model; V is `rows`.
struct Expected {
  std::function<double(double)> token_rms;     ///< after the factor
  std::function<double(double)> position_rms;  ///< 0: there are none
  std::function<double(double)> rho;           ///< their ratio, as it is usually quoted
};

std::function<double(double)> always(double value) {
  return [value](double) { return value; };
}

const std::map<std::string, Expected>& ledger() {
  const auto xavier = [](double d) { return std::sqrt(d) * std::sqrt(2 / (rows + d)); };
  const auto rho_of_xavier = [](double d) { return 2 * std::sqrt(d / (rows + d)); };
  const auto inv_root = [](double d) { return 1 / std::sqrt(d); };
  const auto sinusoidal = always(root_half);
  const double root_two = std::sqrt(2.0);
  static const std::map<std::string, Expected> table = {
      {"tensor2tensor", {always(1), sinusoidal, always(root_two)}},
      {"fairseq", {always(1), sinusoidal, always(root_two)}},
      {"fairseq-bart", {always(0.02), always(0.02), always(1)}},
      {"opennmt-py", {xavier, sinusoidal, rho_of_xavier}},
      {"joeynmt", {xavier, sinusoidal, rho_of_xavier}},
      {"marian", {always(1), sinusoidal, always(root_two)}},
      {"sockeye-3", {xavier, sinusoidal, rho_of_xavier}},
      {"annotated-transformer", {xavier, sinusoidal, rho_of_xavier}},
      {"hf-marian", {always(0.02), sinusoidal, always(0.02828)}},
      {"t5", {always(1), always(0), nullptr}},
      {"flax-wmt", {always(1), sinusoidal, always(root_two)}},
      {"gemma", {[](double d) { return 0.02 * std::sqrt(d); }, always(0), nullptr}},
      {"gpt-2", {always(0.02), always(0.02), always(1)}},
      {"nanogpt", {always(0.02), always(0.02), always(1)}},
      {"llama", {always(0.02), always(0), nullptr}},
      {"olmo", {always(0.02), always(0), nullptr}},
      {"d2l-pytorch",
       {[](double d) { return std::sqrt(d); }, sinusoidal, [](double d) { return 22.6 * std::sqrt(d / 256); }}},
      {"transformers-without-tears", {always(1), sinusoidal, always(root_two)}},
      {"xlm", {inv_root, inv_root, always(1)}},
      {"csordas-ped",
       {[](double d) { return std::sqrt(2 / d); }, [](double d) { return root_half / std::sqrt(d); }, always(2)}},
  };
  return table;
}

double rms(const Tensor& tensor) {
  double squares = 0;
  for (const Real value : tensor) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares / static_cast<double>(tensor.size()));
}

RunConfig preset_of_width(const std::string& name, std::size_t d) {
  std::vector<std::string> settings = {"model.d_model=" + std::to_string(d)};
  const auto is_none = load_config((presets / (name + ".yaml")).string()).model.positions.name() == "none";
  if (!is_none) settings.push_back("model.positions.max_length=" + std::to_string(rows));
  return load_config((presets / (name + ".yaml")).string(), settings);
}

struct Measured {
  double token_rms;
  double position_rms;
};

/// Of the tokens that are not special (a padding row may be zero), and of all positions.
Measured measure(const std::string& name, std::size_t d) {
  TransformerOptions model = preset_of_width(name, d).model;
  model.embedding.norm = false;  // what goes into it is measured
  ParameterSet parameters;
  const Scope scope(parameters, 1);
  const TokenEmbedding embedding(scope / "target_embedding", rows, d, model.embedding);
  const auto positions = model.positions.make(scope / "positions", d);
  const NoPositions nothing(scope / "nothing", d, {});
  std::vector<std::int32_t> ids(rows - 4);
  std::iota(ids.begin(), ids.end(), 4);
  TapeArguments forward_only;
  forward_only.record = false;
  Tape tape(forward_only);
  const Variable table = (*positions)(tape, model.positions.name() == "none" ? 1 : rows);
  return {rms(embedding(tape, {ids, 1, ids.size()}, nothing, 0).value()), table ? rms(table.value()) : 0};
}

TEST_CASE("every preset's token rms, position rms and their ratio are those of the code it follows") {
  for (const auto& [name, expected] : ledger()) {
    CAPTURE(name);
    const bool sinusoidal = preset_of_width(name, 16).model.positions.name() == "sinusoidal";
    for (const std::size_t d : {16, 32, 64, 128, 256, 512}) {
      CAPTURE(d);
      const auto width = static_cast<double>(d);
      const Measured measured = measure(name, d);
      CHECK(measured.token_rms == doctest::Approx(expected.token_rms(width)).epsilon(0.02));
      const double positions = expected.position_rms(width);
      // sin^2 + cos^2 = 1: an equality, not an average
      CHECK(std::fabs(measured.position_rms - positions) <= (sinusoidal ? 1e-6 : 0.02 * positions));
      if (expected.rho != nullptr)
        CHECK(measured.token_rms / measured.position_rms == doctest::Approx(expected.rho(width)).epsilon(0.02));
    }
  }
}

TEST_CASE("there is a row for every preset and a preset for every row") {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(presets)) {
    CAPTURE(entry.path().string());
    CHECK(entry.path().extension() == ".yaml");
    CHECK(ledger().count(entry.path().stem().string()) == 1);
    ++files;
  }
  CHECK(files == ledger().size());
}

TEST_CASE("the three layouts in use have the same rms at every offset") {
  for (const SinusoidLayout layout : {SinusoidLayout::interleaved, SinusoidLayout::sin_then_cos})
    for (const SinusoidDenominator denominator :
         {SinusoidDenominator::half_dim, SinusoidDenominator::half_dim_minus_one})
      for (const std::size_t offset : {0, 2})
        for (const std::size_t d : {16, 64, 512}) {
          SinusoidalOptions options;
          options.layout = layout;
          options.denominator = denominator;
          options.offset = offset;
          ParameterSet parameters;
          const SinusoidalPositions positions(Scope(parameters, 1), d, options);
          Tape tape;
          CHECK(std::fabs(rms(positions(tape, 1).value()) - root_half) <= 1e-6);
        }
}

TEST_CASE("every preset is a base to extend, and trains") {
  const test::TemporaryDirectory folder;
  for (const auto& [name, expected] : ledger()) {
    CAPTURE(name);
    // copy has one vocabulary for both sides, as presets that tie everything need
    const bool encoder = preset_of_width(name, 16).model.kind == ModelKind::encoder_decoder;
    const std::string config = folder.write(name + ".yaml", "extends: " + name + R"(
task: {name: copy, train_size: 40, valid_size: 4, test_size: 4}
model: {d_model: 16, heads: 2, decoder_layers: 1, feed_forward: {width: 32}}
train: {updates: 2, batch_size: 8, evaluate_every: 2, evaluate_sequences: 2, checkpoint_every: 2}
)");
    const test::Outcome outcome = test::program("train " + config + (encoder ? " --set model.encoder_layers=1" : "") +
                                                " --out " + folder.path(name));
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 0);
  }
}

}  // namespace
}  // namespace surd
