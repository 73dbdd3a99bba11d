#pragma once

#include "autograd/base/fields.hpp"
#include "train/probe/gradient_noise.hpp"
#include "train/probe/quantities.hpp"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace surd {

struct ProbeOptions {
  std::size_t every = 0;
  void fields(Fields& f) {
    f("every", every, "diagnostics of update 1 and then every so many updates, into probe.jsonl; 0: never",
      Unit{"updates"});
  }
};

/// Diagnostics of one update, gathered by watching the tape. Watches the first replica's slice of the first batch, and
/// records how many pairs that is; what it records is in the table probe_quantities(), and docs/run-folder.md lists it.
///
/// An update is watch() for each batch, the passes, parameters() and, once it is applied, updated().
class Probe : public Observer {
 public:
  using Record = ProbeRecord;

  Probe() { clear(); }

  /// Announces the index-th batch of an update, of which the tape's slice holds the first rows; index 0 begins a new
  /// update and forgets the last one. Who is to watch the pass over it: this, or null where it is not to be watched.
  /// Without this call every position counts, and what needs token ids is not recorded.
  Observer* watch(std::size_t index, const Batch& batch);

  void see(const Event& event) override { update_->see(event); }
  /// After the passes, before the update is applied: what needs the parameters or all of a pass.
  void parameters(const ParameterSet& parameters) { update_->passed(parameters); }
  /// The gradient noise of the update; nothing that is not finite is recorded.
  void noise(const GradientNoise& noise);
  /// After the update was applied, to the parameters that parameters() has seen. Throws Error where it has not.
  void updated(const ParameterSet& parameters) { update_->stepped(parameters); }

  const std::vector<Record>& records() const { return std::as_const(*update_).records(); }
  std::vector<Record> take_records() { return std::exchange(update_->records(), {}); }
  /// Forgets everything.
  void clear();

 private:
  std::unique_ptr<ProbedUpdate> update_;
};

}  // namespace surd
