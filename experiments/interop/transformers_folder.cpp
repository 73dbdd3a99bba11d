#include "experiments/interop/transformers_folder.hpp"

#include "experiments/program/usage_error.hpp"
#include "experiments/program/version.hpp"
#include "layers/multi_query.hpp"
#include "train/storage/safetensors.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace surd {
namespace {

const std::pair<Activation, const char*> activations[] = {
    {Activation::none, "linear"},        {Activation::relu, "relu"}, {Activation::gelu, "gelu"},
    {Activation::gelu_tanh, "gelu_new"}, {Activation::tanh, "tanh"}, {Activation::silu, "silu"},
    {Activation::sigmoid, "sigmoid"}};

/// Other names of the same.
const std::pair<const char*, const char*> synonyms[] = {{"swish", "silu"}, {"gelu_pytorch_tanh", "gelu_new"}};

}  // namespace

void Differences::require(bool holds, const std::string& key, const std::string& value, const char* there) {
  if (!holds) lines_.push_back(fmt::format("model.{}: {} ({})", key, value, there));
}

void require_plain_scores(Differences& found, const MultiHeadOptions& attention) {
  found.require(attention.query_key_norm == QueryKeyNorm::none, "attention.query_key_norm",
                name_of(attention.query_key_norm), "there is none");
  found.require(!attention.score_cap, "attention.score_cap", fmt::format("{:g}", attention.score_cap.value_or(0)),
                "there is none");
}

void require_plain_layers(Differences& found, const TransformerOptions& model) {
  const auto* norm = model.norm.kind.options_of<LayerNorm>();
  found.require(norm != nullptr, "norm.kind", model.norm.kind.name(), "there it is layer_norm");
  if (norm != nullptr) {
    found.require(norm->gain, "norm.gain", "false", "there it is true");
    found.require(norm->bias, "norm.bias", "false", "there it is true");
  }
  const MultiHeadOptions* attention = plain_attention(model);
  found.require(attention != nullptr, "attention.name", model.attention.name(), "there it is multi_head");
  if (attention != nullptr) require_plain_scores(found, *attention);
  found.require(model.feed_forward.options_of<PositionWiseFeedForward>() != nullptr, "feed_forward.name",
                model.feed_forward.name(), "there it is position_wise");
}

void require_plain_logits(Differences& found, const EmbeddingOptions& embedding) {
  found.require(!embedding.logit_cap, "embedding.logit_cap", fmt::format("{:g}", embedding.logit_cap.value_or(0)),
                "there is none");
}

void expect_undone(const OpenRun& run, double on_tied_embeddings) {
  expect_usage(on_tied_embeddings != 0, run.folder.path,
               "its embeddings have a factor of 0, which nothing can undo where they are the output as well");
}

void expect_alike(const OpenRun& run, const std::string& architecture, const std::vector<std::string>& differences) {
  expect_usage(differences.empty(), run.folder.path,
               "{}'s architecture cannot express this model:\n  {}\n--format safetensors writes any model",
               architecture, fmt::join(differences, "\n  "));
}

std::string activation_name(Activation activation) {
  const auto* found = std::find_if(std::begin(activations), std::end(activations),
                                   [&](const auto& entry) { return entry.first == activation; });
  expect(found != std::end(activations), "export", "transformers has no name for the activation {} here",
         name_of(activation));
  return found->second;
}

Activation activation_of(const std::string& name, const std::string& where) {
  std::string known = name;
  for (const auto& [other, usual] : synonyms)
    if (name == other) known = usual;
  const auto* found = std::find_if(std::begin(activations), std::end(activations),
                                   [&](const auto& entry) { return entry.second == known; });
  std::vector<std::string> names;
  for (const auto& entry : activations) names.emplace_back(entry.second);
  expect(found != std::end(activations), where, "'activation_function' is {}; surd has {}", name,
         fmt::join(names, ", "));
  return found->first;
}

const MultiHeadOptions* plain_attention(const TransformerOptions& model) {
  if (const auto* own = model.attention.options_of<MultiHeadAttention>()) return own;
  return model.attention.options_of<MultiQueryAttention>();
}

RunWeights::RunWeights(const OpenRun& run) : run_(run), model_(run.config.model) {
  for (const Parameter& parameter : run.model.parameters()) parameters_[parameter.name] = &parameter.value;
}

const Tensor* RunWeights::find(const std::string& name) const {
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? nullptr : found->second;
}

Tensor RunWeights::bias(const std::string& module, std::size_t size) const {
  const Tensor* own = find(module + ".bias");
  return own != nullptr ? *own : zeros({size});
}

double RunWeights::factor(const std::string& path, const Scale& scale, std::size_t dimension) const {
  return scale.learned() ? static_cast<double>(parameter(path + ".scale").data()[0]) : scale.value(dimension);
}

double RunWeights::query_factor(const std::string& path, const MultiHeadOptions& attention) const {
  const std::size_t width = model_.d_model / model_.heads;
  const double on_scores = attention.absorb_scale ? 1 : factor(path, attention.scale, width);
  return on_scores * std::sqrt(static_cast<double>(width));
}

std::size_t RunWeights::max_length(std::size_t otherwise) const {
  const std::size_t most = run_.model.transformer().max_length();
  return most == static_cast<std::size_t>(-1) ? otherwise : most;
}

Tensor RunWeights::positions(ModelSide side, std::size_t length) const {
  ParameterSet parameters;
  const auto layer = model_.positions.make(Scope(parameters, 0) / "positions", model_.d_model);
  for (Parameter& own : parameters) own.value = parameter(own.name);
  TapeArguments arguments;
  arguments.record = false;
  Tape tape(arguments);
  const Tape::OnSide on_side(tape, side);
  const Variable table = (*layer)(tape, length);
  Tensor result = zeros({length, model_.d_model});
  if (table) std::copy_n(table.value().data(), result.size(), result.data());
  return result;
}

Tensor scaled(Tensor tensor, double factor) {
  for (Real& value : tensor) value = static_cast<Real>(static_cast<double>(value) * factor);
  return tensor;
}

Tensor repeated_heads(const Tensor& rows, std::size_t width, std::size_t times) {
  Shape shape = rows.shape();
  shape[0] *= times;
  Tensor result(shape);
  const std::size_t head = width * rows.size() / rows.shape()[0];
  for (std::size_t h = 0; h * head < result.size(); ++h)
    std::copy_n(rows.data() + h / times * head, head, result.data() + h * head);
  return result;
}

std::string encode_tensors(const std::map<std::string, Tensor>& tensors) {
  TensorFileView view;
  view.metadata = {{"format", "pt"}};  // transformers refuses a file that does not say so
  for (const auto& [name, tensor] : tensors) view.tensors.emplace_back(name, &tensor);
  return encode_safetensors(view);
}

nlohmann::ordered_json origin_of(const OpenRun& run) {
  return {{"version", version()}, {"git_commit", git_commit()}, {"config", to_yaml(run.config)}};
}

const char* real_name() { return sizeof(Real) == 4 ? "float32" : "float64"; }

}  // namespace surd
