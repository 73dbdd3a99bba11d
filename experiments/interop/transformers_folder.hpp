#pragma once

#include "experiments/run/run_folder.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

/// What folders of all architectures of Hugging Face's transformers have in common.
namespace surd {

/// What a model has that an architecture there does not, one line each.
class Differences {
 public:
  /// `key`: below model; `there`: "there it is post".
  void require(bool holds, const std::string& key, const std::string& value, const char* there);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

/// What all architectures there have alike of those that surd writes: scores of queries and keys as they are projected,
/// and neither these nor logits capped.
void require_plain_scores(Differences& found, const MultiHeadOptions& attention);
void require_plain_logits(Differences& found, const EmbeddingOptions& embedding);
/// What Marian and GPT-2 have alike: LayerNorm with gain and bias, attention that compares queries and keys as they
/// are, a feed-forward layer of two maps.
void require_plain_layers(Differences& found, const TransformerOptions& model);

/// Throws UsageError where a table that is the output as well has a factor of 0, which no other weight can undo.
void expect_undone(const OpenRun& run, double on_tied_embeddings);

/// Throws UsageError with all differences, where there are some.
void expect_alike(const OpenRun& run, const std::string& architecture, const std::vector<std::string>& differences);

/// The names of activations there (ACT2FN of activations.py).
std::string activation_name(Activation activation);
/// Throws Error, naming `where`, for one that surd lacks.
Activation activation_of(const std::string& name, const std::string& where);

/// The options of an attention layer whose heads, several queries to a key perhaps, are compared as they are; null
/// where it is of another kind.
const MultiHeadOptions* plain_attention(const TransformerOptions& model);

/// The parameters of a run by name, and what its model computes of them.
class RunWeights {
 public:
  explicit RunWeights(const OpenRun& run);

  const Tensor& parameter(const std::string& name) const { return *parameters_.at(name); }  ///< which must be there
  const Tensor* find(const std::string& name) const;                                        ///< null: there is none
  /// A bias, or zeros where there is none.
  Tensor bias(const std::string& module, std::size_t size) const;
  /// The value of a factor, which may have been learned: then it is the parameter "scale" of the module at `path`.
  double factor(const std::string& path, const Scale& scale, std::size_t dimension) const;
  /// The factor on the scores of an attention layer over 1/sqrt(d_k), by which its queries there have to be larger.
  double query_factor(const std::string& path, const MultiHeadOptions& attention) const;

  /// The longest sequence of the model, or where it takes any, `otherwise`.
  std::size_t max_length(std::size_t otherwise) const;
  /// What is added to the embeddings of one side: [length, d_model].
  Tensor positions(ModelSide side, std::size_t length) const;

 private:
  const OpenRun& run_;
  const TransformerOptions& model_;
  std::map<std::string, const Tensor*> parameters_;
};

Tensor scaled(Tensor tensor, double factor);
/// The rows [count width, ...] of heads, each `times` times in a row.
Tensor repeated_heads(const Tensor& rows, std::size_t width, std::size_t times);

/// The bytes of model.safetensors.
std::string encode_tensors(const std::map<std::string, Tensor>& tensors);
/// What config.json of every folder says of the program that wrote it and of the run's config.
nlohmann::ordered_json origin_of(const OpenRun& run);
/// "float32" or "float64", as config.json has it.
const char* real_name();

}  // namespace surd
