#include "experiments/study/file/claims.hpp"

#include <array>

namespace surd {

std::string_view claim_text(std::size_t claim) {
  static constexpr std::array<std::string_view, 16> texts = {
      "Embeddings are scaled because the embedding and the output matrix are shared",
      "The factor on the embeddings is not needed",
      "The factor balances tokens and positions",
      "The factor on the embeddings cancels with the 1/sqrt(d_k) of the first attention layer",
      "The factor keeps gradients from growing too large or too small",
      "Embeddings start with standard deviation 1/sqrt(d), so sqrt(d) restores unit variance",
      "The input is one-hot, so a token is as large as its row, whatever the vocabulary",
      "The factor on the embeddings and the one on the scores follow one principle, unit variance",
      "For large d_k the softmax of unscaled scores lies where gradients are extremely small",
      "Dividing scores by d_k would be too much",
      "The growth of scores with d_k is an artefact of the start",
      "Subtracting the maximum from scores is not the same as dividing them",
      "Dividing preserves the ratios that softmax relies on",
      "The printed examples of softmax outputs are right",
      "Values must be close together before the softmax",
      "The paper does not mention the factor on the embeddings"};
  return claim >= 1 && claim <= texts.size() ? texts[claim - 1] : std::string_view();
}

}  // namespace surd
