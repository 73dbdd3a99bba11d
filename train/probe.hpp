#pragma once

#include "autograd/fields.hpp"
#include "autograd/tape.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace surd {

struct ProbeOptions {
  std::size_t every = 0;
  void fields(Fields& f) {
    f("every", every, "diagnostics every so many updates, into probe.jsonl; 0: never", Unit{"updates"});
  }
};

/// Diagnostics of one update, gathered by watching the tape: nothing in the layers knows of it. Watches the first
/// replica's slice of the batches it is given.
class Probe : public Observer {
 public:
  /// One quantity of one place, e.g. ("encoder.0.self_attention", "scores", "std", 1.02).
  struct Record {
    std::string path;
    std::string what;
    std::string statistic;
    double number;
  };

  /// The positions before the padding in each row of the batch to be watched, of which a slice holds the first rows:
  /// attention of a query that is padding does not count. Where they are not given, every query counts.
  void set_lengths(std::vector<std::size_t> source, std::vector<std::size_t> target);

  void value(const std::string& path, std::string_view what, const Tensor& value) override;
  void gradient(const std::string& path, std::string_view what, const Tensor& gradient) override;
  /// Frobenius norms of the parameters and of their gradients, before clipping.
  void parameters(const ParameterSet& parameters);

  const std::vector<Record>& records() const { return records_; }
  void clear() { records_.clear(); }

 private:
  void add(const std::string& path, std::string_view what, const char* statistic, double number);

  /// Whether a row of attention scores or weights [B, H, Tq, Tk] has a query that is no padding.
  bool counts(const std::string& path, const Tensor& attention, std::size_t row) const;

  std::vector<Record> records_;
  std::vector<std::size_t> source_lengths_, target_lengths_;
};

}  // namespace surd
