#include "../../data/temporary_directory.hpp"
#include "experiments/run/run_config.hpp"
#include "tests/golden/golden.hpp"

#include <doctest/doctest.h>

#include <filesystem>

// docs/model.md against surd: tests/golden/from_docs/model.py was written from the page, and computed these files.

namespace surd {
namespace {

using test::GoldenFile;

/// The log-probabilities [B, T, V] of the file's batch, by the model of its config with its weights.
Tensor log_probabilities(const GoldenFile& golden) {
  const test::TemporaryDirectory folder;
  const TransformerOptions options = load_config(folder.write("config.yaml", golden.metadata("config"))).model;
  const std::size_t target_vocabulary = golden.tensor("log_probs").shape()[2];
  const bool one = options.embedding.tie == Tie::all || options.kind == ModelKind::decoder_only;
  const std::size_t source_vocabulary =
      one ? target_vocabulary : golden.tensor("parameter.source_embedding.weight").shape()[0];
  ParameterSet parameters;
  const Transformer model(Scope(parameters, 1), options, source_vocabulary, target_vocabulary);
  golden.load(parameters);

  const auto source = golden.integers<TokenId>("source"), target_input = golden.integers<TokenId>("target_input");
  const auto source_lengths = golden.integers<std::size_t>("source_lengths");
  const std::size_t size = source_lengths.size();
  const TapeArguments forward_only = TapeArguments::inference();
  Tape tape(forward_only);
  const Variable hidden = model.hidden(tape, {source, size, source.size() / size}, source_lengths,
                                       {target_input, size, target_input.size() / size});
  return log_softmax(model.logits(hidden)).value();
}

TEST_CASE("a model written from docs/model.md has surd's parameters and gives surd's log-probabilities") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SURD_SOURCE_DIR "/tests/golden/from_docs")) {
    if (entry.path().extension() != ".safetensors") continue;
    ++files;
    CAPTURE(entry.path().string());
    const GoldenFile golden("from_docs/" + entry.path().filename().string());
    CHECK(relative_deviation(log_probabilities(golden), golden.tensor("log_probs")) <= test::golden_tolerance);
  }
  CHECK(files == 9);
}

}  // namespace
}  // namespace surd
