#include "train/replicas.hpp"

#include "train/batch_loss.hpp"

#include <algorithm>
#include <cmath>
#include <system_error>

namespace surd {

Replicas::Replicas(const Transformer& model, ParameterSet& parameters, std::size_t count)
    : model_(model), parameters_(parameters) {
  expect(count > 0, "replicas", "there must be at least one");
  for (std::size_t i = 0; i < count; ++i) {
    replicas_.push_back(std::make_unique<Replica>());
    if (i > 0) replicas_[i]->gradients = parameters.make_gradients();
  }
  try {
    for (std::size_t i = 1; i < count; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& error) {
    const std::size_t started = threads_.size() + 1;
    stop();
    throw Error(fmt::format("replicas: the system gave {} of {} threads ({}); set train.replicas to at most {}",
                            started, count, error.code().message(), started));
  } catch (...) {  // no memory for the next one; those that run refer to this object
    stop();
    throw;
  }
}

Replicas::~Replicas() { stop(); }

void Replicas::stop() {
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
  const std::size_t count = std::min(replicas_.size(), batch.size);
  slices_.clear();
  for (std::size_t i = 0; i < count; ++i)
    slices_.push_back(batch.slice(batch.size * i / count, batch.size * (i + 1) / count));
  arguments_ = arguments;
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
  return loss;
}

}  // namespace surd
