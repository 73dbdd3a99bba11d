#include "train/cross_attention.hpp"

#include <algorithm>
#include <string_view>

namespace surd {
namespace {

/// Keeps the weights of the layers between target and source.
class CrossAttentionObserver : public Observer {
 public:
  void see(const Event& event) override {
    if (event.kind != Event::Kind::quantity || event.what != "weights" || !is_cross(event.path)) return;
    const Shape& shape = event.tensor.shape();  // [1, H, T, S]
    Tensor weights(Shape{shape[1], shape[2], shape[3]});
    std::copy(event.tensor.begin(), event.tensor.end(), weights.begin());
    layers.push_back({event.path, std::move(weights)});
  }

  std::vector<CrossAttention> layers;

 private:
  static bool is_cross(std::string_view path) { return path.substr(path.rfind('.') + 1) == "cross_attention"; }
};

}  // namespace

std::vector<CrossAttention> cross_attention(const Transformer& model, const std::vector<TokenId>& source,
                                            const std::vector<TokenId>& target) {
  CrossAttentionObserver observer;
  TapeArguments inference = TapeArguments::inference();
  inference.observer = &observer;
  Tape tape(inference);
  expect(!target.empty(), "cross_attention", "the target is empty");
  std::vector<TokenId> seen = {Vocabulary::bos};  // what the decoder has read when it writes each id
  seen.insert(seen.end(), target.begin(), target.end() - 1);
  const std::vector<std::size_t> lengths = {source.size()};
  const Variable encoded = model.encode(tape, {source, 1, source.size()}, lengths);
  model.decode({seen, 1, seen.size()}, encoded, lengths);
  return std::move(observer.layers);
}

}  // namespace surd
