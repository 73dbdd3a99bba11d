#pragma once

#include "data/batch.hpp"
#include "data/dataset.hpp"
#include "layers/transformer.hpp"
#include "train/decoding.hpp"
#include "train/metrics/bleu.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace surd {

/// A pair, and what the model makes of its source, as text.
struct SampleTranslation {
  std::string source, translation, reference;
};

struct Evaluation {
  double loss = 0;        ///< cross-entropy without label smoothing, nats a target token (eos included)
  double perplexity = 0;  ///< exp(loss)
  /// The loss of texts, which have no sources, in bits a byte of them, their line ends counted, which eos stands for:
  /// it compares models whose tokens differ. A text is what its tokens spell: blanks that a tokenizer joins, and what
  /// it normalises, are not counted. What stands for an unknown token is easier to tell than the token.
  std::optional<double> bits_per_byte;
  /// Share of target tokens that have the largest logit, given the true prefix. A token that the vocabulary lacks is
  /// never right: whoever predicts unk does not say which.
  double token_accuracy = 0;
  double sequence_accuracy = 0;  ///< share of pairs whose translation has the reference's text
  std::size_t pairs = 0;
  std::size_t target_tokens = 0;
  std::optional<double> bleu, chrf;        ///< of those translations, in [0, 100]; where asked for
  std::size_t decoded = 0;                 ///< pairs that these were measured on
  std::vector<SampleTranslation> samples;  ///< the first of those translations, as many as asked for
};

struct EvaluationArguments {
  std::size_t batch_size = evaluation_batch_size;
  std::size_t decode_at_most = static_cast<std::size_t>(-1);  ///< the first pairs are translated; 0: none
  /// Measure BLEU, with this tokenization, and chrF2. Translations then get as long as `surd translate` lets them, and
  /// as long as their references.
  std::optional<BleuTokenization> bleu = {};
  DecodingArguments search = {};  ///< for translations; how long each may get follows from its pair
  std::size_t samples = 0;        ///< so many of these translations are kept, of the first pairs
};

/// Measures a model on a split, without dropout; texts are not translated. `codec`, which the pairs were encoded with,
/// tells whether a translation is right. Throws Error when there are no pairs, a batch of none is asked for, or a pair
/// is longer than the model's longest sequence.
Evaluation evaluate(const Transformer& model, const std::vector<SentencePair>& pairs, const TextCodec& codec,
                    const EvaluationArguments& options);

/// log p(token | prefix, source) of each pair's target tokens and its eos, nats, in the order of the pairs. Throws
/// Error as evaluate() does, but for no pairs.
std::vector<std::vector<double>> score(const Transformer& model, const std::vector<SentencePair>& pairs,
                                       std::size_t batch_size);

}  // namespace surd
