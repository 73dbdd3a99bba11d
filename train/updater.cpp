#include "train/updater.hpp"

#include "autograd/kernels/elementwise.hpp"

#include <cmath>

namespace surd {
namespace {

double clip_scale(double norm, const std::optional<double>& clip_norm) {
  return clip_norm && norm > *clip_norm ? *clip_norm / (norm + 1e-6) : 1;
}

}  // namespace

double Updater::gradient_norm(std::uint64_t update) {
  std::vector<double> squares(training_.parameters.size(), 0);
  replicas_.each_parameter([&](const Parameter& parameter) {
    if (parameter.gradient.empty) return;
    const Tensor& gradient = parameter.gradient.sum;
    squares[parameter.index] = kernels::sum_of_squares(gradient.data(), gradient.size());
  });
  double sum = 0;
  for (const Parameter& parameter : training_.parameters) {
    if (!std::isfinite(squares[parameter.index])) {
      const bool large = all_finite(parameter.gradient.sum);  // only its squares are beyond the numbers of Real
      throw Diverged(update, (large ? "the squared norm of the gradient of " : "the gradient of ") + parameter.name);
    }
    sum += squares[parameter.index];
  }
  return std::sqrt(sum);
}

void Updater::step(double schedule_factor, double gradient_scale, std::uint64_t update) {
  Optimizer& optimizer = training_.optimizer;
  std::vector<char> overflowed(training_.parameters.size(), 0);
  optimizer.begin_step();
  replicas_.each_parameter([&](Parameter& parameter) {
    optimizer.step_parameter(parameter, schedule_factor, gradient_scale);
    overflowed[parameter.index] = all_finite(parameter.value) ? 0 : 1;  // looked at while it is in a cache
  });
  for (const Parameter& parameter : training_.parameters)
    if (overflowed[parameter.index] != 0) throw Diverged(update, parameter.name);
}

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
  record.gradient_norm = gradient_norm(number);
  book("gradient norm");
  const double factor = training_.schedule.factor(number);
  record.learning_rate = training_.optimizer.learning_rate() * factor;
  step(factor, clip_scale(record.gradient_norm, options_.clip_norm), number);
  book("optimizer");
  return record;
}

}  // namespace surd
