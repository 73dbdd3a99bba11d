#include "autograd/gradcheck.hpp"

#include "autograd/base/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace surd {

GradcheckResult gradcheck(const std::function<Variable(Tape&, const std::vector<Variable>&)>& f,
                          std::vector<Tensor> inputs, ParameterSet* parameters, const GradcheckArguments& options) {
  const random::Stream cotangent_stream(options.seed, "gradcheck", "cotangent");
  const random::Stream probe_stream(options.seed, "gradcheck", "probe");

  const auto run = [&](Tape& tape, std::vector<Variable>& leaves) {
    for (const Tensor& input : inputs) leaves.push_back(tape.input(input, true));
    return f(tape, leaves);
  };

  if (parameters != nullptr) parameters->clear_gradients();
  Tape tape(TapeArguments{});
  std::vector<Variable> leaves;
  const Variable root = run(tape, leaves);
  Tensor cotangent(root.shape());
  std::vector<double> cotangents(cotangent.size());
  cotangent_stream.normal(0, cotangents.size(), cotangents.data());
  std::transform(cotangents.begin(), cotangents.end(), cotangent.data(), [](double x) { return static_cast<Real>(x); });
  const auto objective = [&] {
    Tape tape(TapeArguments{});
    std::vector<Variable> leaves;
    const Tensor& value = run(tape, leaves).value();
    return std::inner_product(cotangents.begin(), cotangents.end(), value.data(), 0.0);
  };
  tape.backward(root, std::move(cotangent));

  GradcheckResult result;
  std::uint64_t draws = 0;
  const auto compare = [&](Tensor& values, const Real* analytic, const std::string& name) {
    double largest = 1e-3;  // below it the rounding of the differences themselves, some 1e-11, would show
    for (std::size_t i = 0; analytic != nullptr && i < values.size(); ++i)
      largest = std::max(largest, std::fabs(static_cast<double>(analytic[i])));
    const bool all = values.size() <= options.probes;
    for (std::size_t probe = 0; probe < std::min(values.size(), options.probes); ++probe) {
      const std::size_t i = all ? probe : probe_stream.integer(draws++, values.size());
      const Real original = values.data()[i];
      const double step = options.step * std::max(1.0, std::fabs(static_cast<double>(original)));
      values.data()[i] = static_cast<Real>(original + step);
      const double after = objective();
      values.data()[i] = static_cast<Real>(original - step);
      const double before = objective();
      values.data()[i] = original;
      const double numeric = (after - before) / (2 * step);
      const double exact = analytic == nullptr ? 0 : static_cast<double>(analytic[i]);
      const double deviation = std::fabs(numeric - exact) / largest;
      if (deviation <= result.worst || std::isnan(result.worst)) continue;  // a NaN is the worst
      result.worst = deviation;
      result.where = fmt::format("{}[{}]: differences say {:.9g}, backward says {:.9g}", name, i, numeric, exact);
    }
  };
  for (std::size_t i = 0; i < inputs.size(); ++i)
    compare(inputs[i], leaves[i].has_gradient() ? leaves[i].gradient().data() : nullptr, fmt::format("input {}", i));
  if (parameters != nullptr)
    for (Parameter& parameter : *parameters)
      compare(parameter.value, parameter.gradient.empty ? nullptr : parameter.gradient.sum.data(), parameter.name);
  result.passed = result.worst <= options.tolerance;  // false for NaN
  return result;
}

}  // namespace surd
