#include "autograd/parameter.hpp"

#include "autograd/base/fields.hpp"
#include "autograd/base/subnormals.hpp"
#include "autograd/kernels/elementwise.hpp"

#include <utility>

namespace surd {

void GradientSum::take(GradientSum& other) {
  if (other.empty) return;
  const FlushSubnormals flush;
  if (empty)
    std::swap(sum, other.sum);
  else
    kernels::accumulate(other.sum.data(), sum.data(), sum.size());
  empty = false;
  other.empty = true;
}

Parameter& ParameterSet::add(std::string name, Tensor value) {
  for (const Parameter& other : parameters_) expect(other.name != name, "ParameterSet", "'{}' exists already", name);
  Tensor gradient = empty_like(value);
  parameters_.push_back({std::move(name), std::move(value), {std::move(gradient), true}, parameters_.size(), 1});
  return parameters_.back();
}

Parameter& ParameterSet::count(std::string name, const Shape& shape) {
  double scalars = 1;
  for (const std::size_t axis : shape) scalars *= static_cast<double>(axis);
  counted_ += scalars;
  parameters_.push_back({std::move(name), Tensor(), {Tensor(), true}, parameters_.size(), 1});
  return parameters_.back();
}

Parameter& ParameterSet::find(std::string_view name) {
  std::vector<std::string> names;
  for (Parameter& parameter : parameters_) {
    if (parameter.name == name) return parameter;
    names.push_back(parameter.name);
  }
  throw Error(fmt::format("ParameterSet: there is no '{}'{}", name, did_you_mean(name, names)));
}

std::size_t ParameterSet::element_count() const {
  std::size_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.value.size();
  return count;
}

void ParameterSet::clear_gradients() {
  for (Parameter& parameter : parameters_) parameter.gradient.empty = true;
}

std::vector<GradientSum> ParameterSet::make_gradients() const {
  std::vector<GradientSum> gradients;
  for (const Parameter& parameter : parameters_) gradients.push_back({empty_like(parameter.value), true});
  return gradients;
}

}  // namespace surd
