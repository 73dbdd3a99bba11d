#include "train/replicas.hpp"

#include "train/batch_loss.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace surd {

Replicas::Replicas(const Transformer& model, ParameterSet& parameters, std::size_t count, Ranks* ranks)
    : model_(model),
      parameters_(parameters),
      ranks_(ranks),
      share_parameters_(count > 1 && parameters.element_count() >= least_shared),
      threads_(count) {
  if (ranks_ != nullptr && count == 1) gradient_done_ = [this](std::size_t index) { ranks_->ready(index); };
  for (std::size_t i = 0; i < count; ++i) {
    replicas_.push_back(std::make_unique<Replica>());
    if (i > 0) replicas_[i]->gradients = parameters.make_gradients();
  }
}

/// Forward and backward of one replica's slice.
void Replicas::run(std::size_t index) {
  Replica& replica = *replicas_[index];
  replica.loss = 0;
  replica.non_finite.clear();
  if (index >= slices_.size()) return;
  const Batch& batch = slices_[index];
  TapeArguments tape_options;
  tape_options.seed = arguments_.seed;
  tape_options.step = arguments_.step;
  tape_options.first_row = batch.first_row;
  tape_options.gradients = index == 0 ? nullptr : &replica.gradients;
  tape_options.observer = index == 0 ? arguments_.observer : nullptr;
  tape_options.profile = index == 0 ? arguments_.profile : nullptr;
  if (gradient_done_) tape_options.gradient_done = &gradient_done_;
  replica.tape.reset(tape_options);
  const Variable loss = batch_loss(model_, replica.tape, batch, arguments_.label_smoothing, arguments_.divisor);
  replica.loss = static_cast<double>(loss.value().data()[0]);
  if (std::isfinite(replica.loss))
    replica.tape.backward(loss);
  else
    replica.non_finite = replica.tape.first_non_finite();
}

void Replicas::each_parameter(const std::function<void(Parameter&)>& work) {
  if (!share_parameters_) {
    for (Parameter& parameter : parameters_) work(parameter);
    return;
  }
  std::atomic<std::size_t> next = 0;
  threads_.run([&](std::size_t) {
    for (std::size_t i = next++; i < parameters_.size(); i = next++) work(parameters_[i]);
  });
}

double Replicas::accumulate(const Batch& batch, const PassArguments& arguments) {
  const std::size_t ranks = ranks_ == nullptr ? 1 : ranks_->count(), rank = ranks_ == nullptr ? 0 : ranks_->index();
  const std::size_t count = std::min(ranks * replicas_.size(), batch.size);
  slices_.clear();
  const std::vector<std::size_t> cuts = batch.even_cuts(count);
  for (std::size_t i = rank * replicas_.size(); i < std::min(count, (rank + 1) * replicas_.size()); ++i)
    slices_.push_back(batch.slice(cuts[i], cuts[i + 1]));
  arguments_ = arguments;
  if (rank > 0) parameters_.clear_gradients();  // what came before is in the first rank's sum
  if (ranks_ != nullptr) ranks_->begin((count + replicas_.size() - 1) / replicas_.size());
  try {
    threads_.run([this](std::size_t index) { run(index); });
  } catch (...) {  // so that no replica keeps anything for the next batch
    for (const auto& replica : replicas_)
      for (GradientSum& gradient : replica->gradients) gradient.empty = true;
    throw;
  }
  if (threads_.count() > 1)
    each_parameter([this](Parameter& parameter) {
      for (std::size_t i = 1; i < replicas_.size(); ++i)
        parameter.gradient.take(replicas_[i]->gradients[parameter.index]);
    });

  double loss = 0;
  non_finite_.clear();
  for (const auto& replica : replicas_) {
    loss += replica->loss;
    if (non_finite_.empty()) non_finite_ = replica->non_finite;
  }
  if (ranks_ == nullptr) return loss;
  const Ranks::Report all = ranks_->finish({loss, non_finite_, arguments.stop});
  non_finite_ = all.non_finite;
  stop_ = all.stop;
  return all.loss;
}

}  // namespace surd
