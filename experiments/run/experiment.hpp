#pragma once

#include "experiments/run/data/run_data.hpp"
#include "experiments/run/data/unknown_tokens.hpp"

#include <memory>
#include <string>
#include <vector>

namespace surd {

/// The beginning of the longer side of a pair as it stands in its split, in quotes, by which it is found in a file: its
/// number in a split leaves out blank and overlong lines.
std::string quoted(const SentencePair& pair, const Split& split, const TextCodec& codec);

/// A model with its parameters, as a config and two vocabularies make it.
class Model {
 public:
  Model(const RunConfig& config, const TextCodec& codec);

  const Transformer& transformer() const { return *transformer_; }
  ParameterSet& parameters() { return parameters_; }
  const ParameterSet& parameters() const { return parameters_; }
  const Scope::Factors& factors() const { return scope_.factors(); }

 private:
  ParameterSet parameters_;
  Scope scope_;
  std::unique_ptr<Transformer> transformer_;
};

/// What a person is told who waits for an Experiment, or for the corpus alone.
inline constexpr const char* waiting_for_data = "loading the data";

/// What a run is trained with. `surd config check` builds it too, to see that it can be built.
struct Experiment {
  /// `vocabulary`: the folder with the vocabularies of a run that is resumed; "" = they are made from the corpus.
  /// Throws ConfigError with the options that contradict each other or the data.
  explicit Experiment(const ConfigFile& file, const std::string& vocabulary = "");

  RunData data;
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> schedule;
  std::vector<std::string> splits = {"train", "valid"};  ///< all that the run looks at
  UnknownShares unknown;                                 ///< of every split
  double padding_share = 0;                              ///< share of padding in the batches of the first epoch
};

/// "3 empty and 244 overlong": which pairs of a split are not looked at, of which a Dataset has left out `overlong`; ""
/// where all are.
std::string left_out_of(const Split& split, std::size_t overlong);

/// The lines a run begins with: task, unknown tokens, model, parameters, every factor with its resolved value, tying,
/// optimizer, schedule.
std::vector<std::string> describe(const RunConfig& config, const Experiment& experiment);

}  // namespace surd
