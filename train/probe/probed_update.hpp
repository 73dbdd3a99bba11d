#pragma once

#include "autograd/tape.hpp"
#include "data/batch.hpp"
#include "train/probe/attention_statistics.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surd {

/// One number of one place, e.g. ("encoder.0.self_attention", "scores", "std", 1.02). Not finite where the model is
/// not.
struct ProbeRecord {
  std::string path;
  std::string what;
  std::string statistic;
  double number;
};

/// One update that is watched, as the quantities of the probe see it: a quantity asks to be told of events, and records
/// numbers. It lives from the update's first batch to its last record, and so does what quantities keep in it: their
/// functions may refer to both.
class ProbedUpdate {
 public:
  /// Without quantities: give it to each of them.
  ProbedUpdate() = default;
  ProbedUpdate(const ProbedUpdate&) = delete;  // quantities refer to it
  ProbedUpdate& operator=(const ProbedUpdate&) = delete;

  // What a quantity asks for; those who ask for the same are told in the order in which they asked.

  using OnEvent = std::function<void(const Event&)>;
  using OnBatch = std::function<void(std::size_t index, const Batch&)>;
  using OnParameters = std::function<void(const ParameterSet&)>;

  /// Of every inner quantity of this name, see Tape::observe.
  void on(const std::string& what, OnEvent f) { named_[what].push_back(std::move(f)); }
  /// Of every op's value, and of every inner quantity that nobody asks for by name.
  void on_value(OnEvent f) { values_.push_back(std::move(f)); }
  /// Of the cotangent of every op's value.
  void on_gradient(OnEvent f) { gradients_.push_back(std::move(f)); }
  /// Of every batch of the update, of which the pass over the first is watched, or over a slice of its first rows.
  void on_batch(OnBatch f) { batches_.push_back(std::move(f)); }
  /// After the passes, before the step is made: the gradients are the whole update's, not yet clipped.
  void before_step(OnParameters f) { before_step_.push_back(std::move(f)); }
  /// After the step. Not called in an update that diverged.
  void after_step(OnParameters f) { after_step_.push_back(std::move(f)); }

  /// A State of one's own that lives as long as this.
  template <class State>
  State& keep() {
    const auto state = std::make_shared<State>();
    kept_.push_back(state);
    return *state;
  }

  // What it can use.

  void record(const std::string& path, std::string_view what, const char* statistic, double number) {
    records_.push_back({path, std::string(what), statistic, number});
  }
  /// Which positions of the event's side are no padding; all where its side is unknown, or no batch was announced.
  PositionFilter positions(const Event& event) const;
  /// Whether a text begins at position (b, t) of the event's side.
  PositionFilter begins(const Event& event) const;
  /// Root of the mean square of the event's [B, T, d] over those positions; of other shapes, of all elements.
  double rms_of_positions(const Event& event) const;

  // What the probe tells it.

  void see(const Event& event) const;
  void batch(std::size_t index, const Batch& batch);
  void passed(const ParameterSet& parameters) const;
  void stepped(const ParameterSet& parameters) const;

  std::vector<ProbeRecord>& records() { return records_; }
  const std::vector<ProbeRecord>& records() const { return records_; }

 private:
  std::map<std::string, std::vector<OnEvent>, std::less<>> named_;
  std::vector<OnEvent> values_, gradients_;
  std::vector<OnBatch> batches_;
  std::vector<OnParameters> before_step_, after_step_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<std::size_t> source_lengths_, target_lengths_, joined_lengths_;  // of the first batch
  std::vector<std::int32_t> places_;                                           // its targets', if rows are packed
  std::vector<ProbeRecord> records_;
};

}  // namespace surd
