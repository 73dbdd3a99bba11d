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
/// replica's slice of the batch.
class Probe : public Observer {
 public:
  /// One quantity of one place, e.g. ("encoder.0.self_attention", "scores", "std", 1.02).
  struct Record {
    std::string path;
    std::string what;
    std::string statistic;
    double number;
  };

  void value(const std::string& path, std::string_view what, const Tensor& value) override;
  void gradient(const std::string& path, std::string_view what, const Tensor& gradient) override;
  /// Frobenius norms of the parameters and of their gradients, before clipping.
  void parameters(const ParameterSet& parameters);

  const std::vector<Record>& records() const { return records_; }
  void clear() { records_.clear(); }

 private:
  void add(const std::string& path, std::string_view what, const char* statistic, double number);

  std::vector<Record> records_;
};

}  // namespace surd
