#pragma once

#include "autograd/base/fields.hpp"
#include "autograd/tape.hpp"
#include "data/batch.hpp"
#include "train/probe/attention_probe.hpp"
#include "train/probe/gradient_noise.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
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

/// Diagnostics of one update, gathered by watching the tape: nothing in the layers knows of it. Watches the first
/// replica's slice of the first batch; docs/run-folder.md lists what it records.
///
/// An update is watch() for each batch, the passes, parameters() and, once it is applied, updated().
class Probe : public Observer {
 public:
  /// One quantity of one place, e.g. ("encoder.0.self_attention", "scores", "std", 1.02). Not finite where the model is
  /// not.
  struct Record {
    std::string path;
    std::string what;
    std::string statistic;
    double number;
  };

  /// Announces the index-th batch of an update, of which the tape's slice holds the first rows; index 0 begins a new
  /// update and forgets the last one. Who is to watch the pass over it: this, or null where it is not to be watched.
  /// Without this call every position counts, and what needs token ids is not recorded.
  Observer* watch(std::size_t index, const Batch& batch);

  void value(const std::string& path, std::string_view what, const Tensor& value) override;
  void gradient(const std::string& path, std::string_view what, const Tensor& gradient) override;
  /// After the passes, before the update is applied: what needs the parameters or all of a pass. Frobenius norms are
  /// before clipping.
  void parameters(const ParameterSet& parameters);
  /// The gradient noise of the update; nothing that is not finite is recorded.
  void noise(const GradientNoise& noise);
  /// After the update was applied: its size relative to the parameters that parameters() has seen.
  void updated(const ParameterSet& parameters);

  const std::vector<Record>& records() const { return records_; }
  std::vector<Record> take_records() { return std::exchange(records_, {}); }
  /// Forgets everything.
  void clear() { *this = Probe(); }

 private:
  /// Sums over the logits of all rows.
  struct Logits {
    std::size_t rows = 0;
    double count = 0, sum = 0, squares = 0, max = 0, log_partitions = 0, own = 0;
  };

  void add(const std::string& path, std::string_view what, const char* statistic, double number);
  /// Which positions of that many rows of the batch are no padding, on the side that a module of this path is on.
  QueryFilter filter(const std::string& path, std::size_t batch) const;
  double rms_of_positions(const std::string& path, const Tensor& value) const;
  void add_residual(const std::string& path, const Tensor& sum);
  void add_embedding(const Tensor& tokens);
  void take_logits(const Tensor& tile);
  void add_logits();
  void add_score_parts(const ParameterSet& parameters);
  void add_tied_gradients(const ParameterSet& parameters);

  std::vector<Record> records_;
  std::vector<std::size_t> source_lengths_, target_lengths_;
  std::vector<TokenId> own_inputs_;                    // of the target positions that have logits, in their order
  std::vector<bool> source_touched_, target_touched_;  // by id: whether any batch looks it up
  std::map<std::string, AttentionShape> attentions_;
  std::map<std::string, double> score_factors_;
  std::optional<Tensor> positions_;                         // of the sum whose tokens come next
  std::optional<Tensor> source_tokens_, source_positions_;  // the parts of the encoder's input
  std::size_t sums_ = 0;                                    // of tokens and positions so far
  std::map<std::string, std::vector<double>> residuals_;    // rms of skip and branch, until their sum is there
  Logits logits_;
  std::map<std::string, Tensor> weight_gradients_;  // of embeddings and the output, of the watched slice
  std::vector<Tensor> before_;                      // the parameters
};

}  // namespace surd
