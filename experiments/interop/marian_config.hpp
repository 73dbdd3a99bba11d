#pragma once

#include "experiments/interop/transformers_folder.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// How a model is written as a folder of MarianMTModel and MarianTokenizer of Hugging Face's transformers
/// (models/marian, read: 4.57.6 and 5.23.0). Its architecture: sub-layers with a LayerNorm behind the sum, sinusoidal
/// positions, scores over sqrt(d_k), a factor of 1 or sqrt(d_model) on embeddings, a bias on the logits.
namespace surd::marian {

inline constexpr double norm_epsilon = 1e-5;  ///< of every LayerNorm; no key changes it
inline constexpr const char* layer_norm_name = "layer_norm";

/// Ids in a folder that surd writes. The unknown token is 0, as in a model of SentencePiece: MarianTokenizer of 5.x
/// takes that model's id for a piece that vocab.json lacks.
inline constexpr TokenId unk = 0, bos = 1, eos = 2, pad = 3;

/// A logit that is so much smaller than it would be has, in float, no share of the softmax.
inline constexpr Real never = -100;

/// What a model has that Marian's architecture does not, one line each; empty where it can be written.
std::vector<std::string> differences(const TransformerOptions& model);

/// Whether the positions are those that MarianMTModel computes by itself.
bool has_own_positions(const TransformerOptions& model);

/// Every module with a weight and a bias beside embeddings and output: its path here and its path there.
std::vector<std::pair<std::string, std::string>> modules(std::size_t encoder_layers, std::size_t decoder_layers);

}  // namespace surd::marian
