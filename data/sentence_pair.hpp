#pragma once

#include "data/vocabulary.hpp"

#include <string>
#include <vector>

namespace surd {

/// A sentence and its translation, as ids.
struct SentencePair {
  std::vector<TokenId> source;  ///< ends in eos; empty where the corpus is of texts alone
  std::vector<TokenId> target;  ///< neither bos nor eos: a batch adds them
  /// The target as text where the vocabulary lacks one of its tokens; "" where the ids tell all of it.
  std::string target_text = {};
};

}  // namespace surd
