#pragma once

#include "experiments/run/run_folder.hpp"

#include <map>
#include <string>

/// A decoder alone as a folder that AutoModelForCausalLM.from_pretrained() of Hugging Face's transformers takes (read:
/// 5.23.0), by the names of its files: config.json, generation_config.json, model.safetensors, and vocab.json with
/// surd's ids.
///
/// Its log-probabilities are those of the run. Factors that the architecture lacks are folded into weights, exactly but
/// for rounding: that on the scores into W_q and its bias; that on embeddings into their table, and where the table is
/// the output as well, its inverse and the factor on the logits into the last norm. Projections without a bias get one
/// of zeros.
namespace surd {

/// GPT-2 (models/gpt2): LayerNorm before the sub-layers, any positions that are added, as a table; heads of keys and
/// values that are shared are repeated. Throws UsageError with everything that it cannot express.
std::map<std::string, std::string> export_gpt2(const OpenRun& run);

/// Llama (models/llama): RMSNorm before the sub-layers, rotary positions, a gated feed-forward layer. Throws UsageError
/// with everything that it cannot express.
std::map<std::string, std::string> export_llama(const OpenRun& run);

}  // namespace surd
