#include "tests/train/tiny_run.hpp"
#include "train/optimizers/adam.hpp"

#include <limits>

namespace surd {
namespace {

using test::Run;
using test::same_bits;
using test::tiny;
using test::values_of;

/// The Diverged that a run throws; fails where it throws none.
Diverged divergence_of(Run& run) {
  try {
    run.go();
  } catch (const Diverged& diverged) {
    return diverged;
  }
  FAIL("it did not diverge");
  return {0, ""};
}

TEST_CASE("a NaN stops a run before the update is applied, with its place") {
  for (const std::size_t replicas : {1, 2}) {
    Run run(tiny(replicas));
    run.toy.parameters.find("decoder.0.cross_attention.value.weight").value[2] = std::numeric_limits<Real>::quiet_NaN();
    const auto before = values_of(run.toy.parameters);
    const Diverged diverged = divergence_of(run);
    CHECK(diverged.update() == 1);
    CHECK(diverged.where() == "decoder.0.cross_attention.value.weight: parameter");
    CHECK(std::string(diverged.what()) == "diverged at update 1: " + diverged.where() + " is not finite");
    CHECK(same_bits(values_of(run.toy.parameters), before));
    CHECK(run.optimizer.updates() == 0);
    CHECK(run.log.empty());
    CHECK(run.saved_at.empty());
  }
}

TEST_CASE("a rate far too high stops a run before it applies what it cannot compute") {
  TransformerOptions model = test::toy_options();
  model.norm.placement = NormPlacement::pre;
  Run run(tiny(), "", static_cast<double>(std::numeric_limits<Real>::max()) / 1e3, model);
  std::vector<Tensor> after_update;
  run.on_update = [&](const UpdateRecord&) { after_update = values_of(run.toy.parameters); };
  const Diverged diverged = divergence_of(run);
  CHECK(diverged.update() == run.log.size() + 1);
  CHECK(diverged.update() >= 2);
  CHECK_FALSE(diverged.where().empty());
  CHECK(same_bits(values_of(run.toy.parameters), after_update));
  CHECK(run.optimizer.updates() == diverged.update() - 1);
}

TEST_CASE("gradients whose squares overflow stop a run before the update is applied, by the parameter's name") {
  TransformerOptions model = test::toy_options();
  model.embedding.logit_scale = Scale::constant(static_cast<double>(std::numeric_limits<Real>::max()) / 1e4);
  Run run(tiny(), "", 0.01, model);
  const auto before = values_of(run.toy.parameters);
  const Diverged diverged = divergence_of(run);
  CHECK(diverged.update() == 1);
  CAPTURE(diverged.where());
  CHECK(diverged.where().rfind("the squared norm of the gradient of ", 0) == 0);
  CHECK(same_bits(values_of(run.toy.parameters), before));
}

TEST_CASE("an update that overflows is neither evaluated nor saved") {
  TrainOptions options = tiny();
  options.evaluate_every = options.checkpoint_every = 1;
  Run run(options);
  run.toy.parameters.find("encoder.0.feed_forward.inner.bias").learning_rate_multiplier = 1;
  AdamOptions adam = Run::adam(static_cast<double>(std::numeric_limits<Real>::max()) / 10);
  adam.groups = {{"encoder.0.feed_forward.inner.bias", 1000, {}, {}}};
  Adam optimizer(run.toy.parameters, adam);
  std::string where;
  try {
    train({run.toy.transformer, run.toy.parameters, optimizer, run.schedule, run.train_pairs, run.valid_pairs,
           test::no_words, 5},
          options, {}, run);
  } catch (const Diverged& diverged) {
    CHECK(diverged.update() == 1);
    where = diverged.where();
  }
  CHECK(where.find("encoder.0.feed_forward.inner.bias") != std::string::npos);
  CHECK(run.saved_at.empty());
}

TEST_CASE("a validation loss that is not finite is no success") {
  TrainOptions options = tiny();
  options.evaluate_every = 1;
  options.stop_at = 1.0;
  Run run(options);
  // A token that only the validation pairs use has an embedding that overflows the scores.
  Tensor& embedding = run.toy.parameters.find("source_embedding.weight").value;
  const std::size_t d = row_length(embedding);
  const auto unused = static_cast<TokenId>(row_count(embedding) - 1);
  for (std::size_t j = 0; j < d; ++j)
    embedding.data()[static_cast<std::size_t>(unused) * d + j] = std::numeric_limits<Real>::max();
  for (SentencePair& pair : run.train_pairs)
    for (TokenId& token : pair.source)
      if (token == unused) token = Vocabulary::unk;
  for (SentencePair& pair : run.valid_pairs) pair.source.front() = unused;
  try {
    run.go();
    FAIL("trained on");
  } catch (const Diverged& diverged) {
    CHECK(diverged.update() == 1);
    CHECK(diverged.where() == "the validation loss");
  }
}

}  // namespace
}  // namespace surd
