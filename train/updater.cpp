#include "train/updater.hpp"

#include "autograd/kernels/elementwise.hpp"

#include <cmath>

namespace surd {
namespace {

/// Global norm of the gradients. Throws Diverged naming the first parameter whose gradient is not finite.
double gradient_norm(const ParameterSet& parameters, std::uint64_t update) {
  double squares = 0;
  for (const Parameter& parameter : parameters) {
    if (parameter.gradient.empty) continue;
    const Tensor& gradient = parameter.gradient.sum;
    const auto contribution = static_cast<double>(kernels::dot(gradient.data(), gradient.data(), gradient.size()));
    if (!std::isfinite(contribution)) throw Diverged(update, "the gradient of " + parameter.name);
    squares += contribution;
  }
  return std::sqrt(squares);
}

/// Throws Diverged where the update itself overflowed, so that it does not go into a checkpoint.
void expect_finite(const ParameterSet& parameters, std::uint64_t update) {
  for (const Parameter& parameter : parameters)
    if (!all_finite(parameter.value)) throw Diverged(update, parameter.name);
}

double clip_scale(double norm, const std::optional<double>& clip_norm) {
  return clip_norm && norm > *clip_norm ? *clip_norm / (norm + 1e-6) : 1;
}

}  // namespace

UpdateRecord Updater::update(const std::vector<Batch>& batches, std::uint64_t number, std::uint64_t epoch,
                             TrainListener& listener) {
  UpdateRecord record{number, epoch, 0, 0, 0, 0, 0};
  for (const Batch& batch : batches) {
    record.source_tokens += batch.source_tokens();
    record.target_tokens += batch.target_tokens();
  }

  if (profile_ != nullptr) profile_->mark();
  training_.parameters.clear_gradients();
  for (std::size_t i = 0; i < batches.size(); ++i) {
    PassArguments pass;
    pass.label_smoothing = static_cast<Real>(options_.label_smoothing);
    pass.divisor = static_cast<Real>(record.target_tokens);
    pass.seed = training_.seed;
    pass.step = number * options_.accumulate + i;
    pass.observer = listener.observer(number, i, batches[i]);
    pass.profile = profile_;
    pass.stop = training_.ranks != nullptr && listener.interrupted();
    record.loss += replicas_.accumulate(batches[i], pass);
    if (!std::isfinite(record.loss)) throw Diverged(number, replicas_.non_finite());
  }
  book("replicas");

  listener.gradients(number, training_.parameters);
  record.gradient_norm = gradient_norm(training_.parameters, number);
  book("gradient norm");
  const double factor = training_.schedule.factor(number);
  record.learning_rate = training_.optimizer.learning_rate() * factor;
  training_.optimizer.step(factor, clip_scale(record.gradient_norm, options_.clip_norm));
  book("optimizer");
  expect_finite(training_.parameters, number);
  book("finite parameters");
  return record;
}

}  // namespace surd
