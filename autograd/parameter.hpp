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

  /// Adds a sum of the same shape and empties it.
  void take(GradientSum& other);
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

  /// A set that makes no parameters and only counts them: their tensors are no larger than one element. A module built
  /// over it takes no memory and cannot compute; it tells how large a real one would be.
  static ParameterSet counting() { return ParameterSet(true); }
  bool only_counts() const { return only_counts_; }
  /// Counts a parameter of this shape, in such a set.
  Parameter& count(std::string name, const Shape& shape);
  /// Number of scalars that were counted. The widths of a mistyped config may be too much for a whole number.
  double counted() const { return counted_; }

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

 private:
  explicit ParameterSet(bool only_counts) : only_counts_(only_counts) {}

  std::deque<Parameter> parameters_;
  bool only_counts_ = false;
  double counted_ = 0;
};

}  // namespace surd
