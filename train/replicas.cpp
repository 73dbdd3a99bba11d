#include "train/replicas.hpp"

#include "train/batch_loss.hpp"

#include <algorithm>
#include <cmath>
#include <system_error>

namespace surd {

Replicas::Replicas(const Transformer& model, ParameterSet& parameters, std::size_t count, Ranks* ranks)
    : model_(model), parameters_(parameters), ranks_(ranks) {
  if (ranks_ != nullptr && count == 1) gradient_done_ = [this](std::size_t index) { ranks_->ready(index); };
  expect(count > 0, "replicas", "there must be at least one");
  for (std::size_t i = 0; i < count; ++i) {
    replicas_.push_back(std::make_unique<Replica>());
    if (i > 0) replicas_[i]->gradients = parameters.make_gradients();
  }
  try {
    for (std::size_t i = 1; i < count; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& error) {
    const std::size_t started = threads_.size() + 1;
    end_threads();
    throw Error(fmt::format("replicas: the system gave {} of {} threads ({}); set train.replicas to at most {}",
                            started, count, error.code().message(), started));
  } catch (...) {  // no memory for the next one; those that run refer to this object
    end_threads();
    throw;
  }
}

Replicas::~Replicas() { end_threads(); }

void Replicas::end_threads() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    quit_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Replicas::work(std::size_t index) {
  std::uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      start_.wait(lock, [&] { return quit_ || round_ != seen; });
      if (quit_) return;
      seen = round_;
    }
    run(index);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--running_ == 0) done_.notify_one();
  }
}

/// Forward and backward of one replica's slice.
void Replicas::run(std::size_t index) {
  Replica& replica = *replicas_[index];
  replica.loss = 0;
  replica.non_finite.clear();
  if (index >= slices_.size()) return;
  try {
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
  } catch (...) {
    replica.error = std::current_exception();
  }
}

double Replicas::accumulate(const Batch& batch, const PassArguments& arguments) {
  const std::size_t ranks = ranks_ == nullptr ? 1 : ranks_->count(), rank = ranks_ == nullptr ? 0 : ranks_->index();
  const std::size_t count = std::min(ranks * replicas_.size(), batch.size);
  slices_.clear();
  for (std::size_t i = rank * replicas_.size(); i < std::min(count, (rank + 1) * replicas_.size()); ++i)
    slices_.push_back(batch.slice(batch.size * i / count, batch.size * (i + 1) / count));
  arguments_ = arguments;
  if (rank > 0) parameters_.clear_gradients();  // what came before is in the first rank's sum
  if (ranks_ != nullptr) ranks_->begin((count + replicas_.size() - 1) / replicas_.size());
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    running_ = threads_.size();
    ++round_;
  }
  start_.notify_all();
  run(0);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return running_ == 0; });
  }

  double loss = 0;
  non_finite_.clear();
  std::exception_ptr error;
  for (const auto& replica : replicas_) {
    const std::exception_ptr own = std::exchange(replica->error, nullptr);
    if (!error) error = own;
    loss += replica->loss;
    if (non_finite_.empty()) non_finite_ = replica->non_finite;
    if (!replica->gradients.empty()) parameters_.add_gradients(replica->gradients);
  }
  if (error) std::rethrow_exception(error);  // only now, so that no replica keeps anything for the next batch
  if (ranks_ == nullptr) return loss;
  const Ranks::Report all = ranks_->finish({loss, non_finite_, arguments.stop});
  non_finite_ = all.non_finite;
  stop_ = all.stop;
  return all.loss;
}

}  // namespace surd
