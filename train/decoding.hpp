#pragma once

#include "data/vocabulary.hpp"
#include "layers/transformer.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace surd {

/// What divides the log-probability of a finished translation of `length` tokens, eos counted, where alpha is
/// DecodingArguments::length_penalty.
enum class LengthNormalization {
  gnmt,     ///< ((5 + length) / 6)^alpha; Wu et al., arXiv 1609.08144, section 7
  fairseq,  ///< length^alpha; fairseq, Marian and OpenNMT's "avg"
};
std::vector<std::string> names_of(LengthNormalization);

/// The max_length_factor that translating and measuring go by where nobody gave a limit.
inline constexpr double usual_max_length_factor = 2;
/// max_length_factor times the length of a source, its eos included, and 20.
std::size_t length_limit(double max_length_factor, std::size_t source_length);

struct DecodingArguments {
  /// K unfinished hypotheses are kept; 1: greedy. Of the 2 K best extensions by a token, one that ends the sentence is
  /// finished where it is among the first K, and the first K of the others go on.
  std::size_t beam = 1;
  std::size_t max_length = 100;  ///< target tokens, eos included; what is not finished by then, or where the model has
                                 ///< no more positions, is cut
  double length_penalty = 1;     ///< alpha of `normalization`; 0: log-probabilities are compared as they are
  /// If above 0, the translation of a source is also cut after its length_limit(), eos included, so that what a source
  /// becomes does not depend on those it is decoded with.
  double max_length_factor = 0;
  LengthNormalization normalization = LengthNormalization::gnmt;
  std::size_t n_best = 1;                     ///< how many translations decode_n_best() looks for; at most `beam`
  std::vector<std::size_t> max_lengths = {};  ///< of each source, in place of max_length and its factor; empty: these
  bool allow_unknown = true;                  ///< whether unk may be written
};

struct Translation {
  std::vector<TokenId> tokens;  ///< without bos and eos
  double log_probability = 0;   ///< sum over the tokens and eos, nats
  bool finished = false;        ///< whether it ended in eos
  double score = 0;             ///< what the search ranks by: log_probability, divided as `normalization` says
};

/// The n_best best translations of each source (ids ending in eos), the best first: finished ones, then those that were
/// cut. There are fewer where the search found no more, and always one. Sources are decoded together, padded to the
/// longest, or, without an encoder, those of one length. Never writes pad, bos. Throws Error when beam, max_length
/// or n_best is 0, the length penalty is negative, n_best exceeds the beam, there are not as many max_lengths as
/// sources, or a source is empty or longer than the model takes.
std::vector<std::vector<Translation>> decode_n_best(const Transformer& model,
                                                    const std::vector<std::vector<TokenId>>& sources,
                                                    const DecodingArguments& options);

/// The best of these; n_best is not looked at.
std::vector<Translation> decode(const Transformer& model, const std::vector<std::vector<TokenId>>& sources,
                                DecodingArguments options);

}  // namespace surd
