#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// A sum of gradients. While it is empty, `sum` holds garbage: the first contribution overwrites it, which saves
/// clearing and re-reading it every step.
struct GradientSum {
  Tensor sum;
  bool empty = true;
};

/// A trained tensor. Its name is the path of the module that owns it and a last word:
/// "encoder.0.self_attention.query.weight".
struct Parameter {
  std::string name;
  Tensor value;
  GradientSum gradient;
  std::size_t index = 0;                ///< position in its ParameterSet
  double learning_rate_multiplier = 1;  ///< on top of the optimizer's groups
};

/// The parameters of a model, in the order of construction. Parameters never move: modules hold references to them.
class ParameterSet {
 public:
  ParameterSet() = default;
  ParameterSet(const ParameterSet&) = delete;
  ParameterSet& operator=(const ParameterSet&) = delete;

  /// Throws Error when the name is taken.
  Parameter& add(std::string name, Tensor value);

  /// Throws Error, with the nearest name, when there is none of this name.
  Parameter& find(std::string_view name);

  std::size_t size() const { return parameters_.size(); }
  Parameter& operator[](std::size_t index) { return parameters_[index]; }
  const Parameter& operator[](std::size_t index) const { return parameters_[index]; }
  auto begin() { return parameters_.begin(); }
  auto end() { return parameters_.end(); }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }

  /// Number of trained scalars.
  std::size_t element_count() const;

  /// Forgets all gradients.
  void clear_gradients();

  /// Empty gradient sums of the same shapes, for a replica that works beside the parameters' own.
  std::vector<GradientSum> make_gradients() const;

  /// Adds a replica's gradients to the parameters' own and empties them.
  void add_gradients(std::vector<GradientSum>& gradients);

 private:
  std::deque<Parameter> parameters_;
};

}  // namespace surd
