#include "layers/module.hpp"

#include <algorithm>

namespace surd {

Scope Scope::operator/(std::string_view name) const {
  Scope child = *this;
  child.path_ = path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  return child;
}

Scope Scope::among_sub_layers(std::size_t count) const {
  Scope same = *this;
  same.sub_layers_ = count;
  return same;
}

void Scope::declare_factor(std::string_view name, std::string_view value) const {
  const std::pair<std::string, std::string> factor(name, value);
  if (std::find(factors_->begin(), factors_->end(), factor) == factors_->end()) factors_->push_back(factor);
}

Parameter& Scope::parameter(std::string_view name, const Shape& shape, const Initializer& initializer) const {
  const std::string full_name = (*this / name).path();
  if (parameters_->only_counts()) return parameters_->count(full_name, shape);
  Tensor value(shape);
  initializer(value, random::Stream(seed_, "init", full_name));
  return parameters_->add(full_name, std::move(value));
}

Parameter& Scope::shared_parameter(std::string_view name, const Shape& shape, const Initializer& initializer) const {
  const std::string full_name = (*this / name).path();
  for (Parameter& parameter : *parameters_) {
    if (parameter.name != full_name) continue;
    expect(parameters_->only_counts() || parameter.value.shape() == shape, full_name, "is shared as {}; got {}",
           parameter.value.shape(), shape);
    return parameter;
  }
  return parameter(name, shape, initializer);
}

}  // namespace surd
