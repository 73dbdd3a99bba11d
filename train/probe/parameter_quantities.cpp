#include "autograd/kernels/elementwise.hpp"
#include "train/probe/quantities.hpp"
#include "train/probe/statistics.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace surd {
namespace {

/// By id, whether it is looked up.
using Touched = std::vector<bool>;

bool contains(const Touched& touched, std::size_t id) { return id < touched.size() && touched[id]; }

/// Marks the ids of the first lengths[b] of each row of [B, T].
void touch(Touched& touched, const std::vector<TokenId>& ids, std::size_t row,
           const std::vector<std::size_t>& lengths) {
  for (std::size_t b = 0; b < lengths.size(); ++b)
    for (std::size_t t = 0; t < lengths[b]; ++t) {
      const auto id = static_cast<std::size_t>(ids[b * row + t]);
      if (id >= touched.size()) touched.resize(id + 1);
      touched[id] = true;
    }
}

void add(std::optional<Tensor>& sum, const Tensor& x) {
  if (sum)
    kernels::accumulate(x.data(), sum->data(), x.size());
  else
    sum = x;
}

/// What an update ratio needs of the time before the step.
struct Before {
  std::vector<Tensor> values;                           // a parameter
  Touched source, target;                               // by any batch of the update
  std::map<std::string, std::set<ModelSide>> sides_of;  // of embedding matrices, by name: the sides that look rows up
};

/// Squared norms of the step and of the parameter before it, over some of its rows.
struct StepSquares {
  double step = 0, parameter = 0;
};

}  // namespace

void watch_parameters(ProbedUpdate& update) {
  update.before_step([&update](const ParameterSet& parameters) {
    for (const Parameter& parameter : parameters) {
      update.record(parameter.name, "parameter", "norm", norm(parameter.value));
      if (parameter.gradient.empty) continue;
      update.record(parameter.name, "parameter", "gradient_norm", norm(parameter.gradient.sum));
    }
  });
}

void watch_tied_gradients(ProbedUpdate& update) {
  struct Parts {
    std::optional<Tensor> input, output;
  };
  auto& parts = update.keep<std::map<std::string, Parts>>();  // by the matrix's name
  update.on("gradient_from_lookups", [&](const Event& part) { add(parts[part.path].input, part.tensor); });
  update.on("gradient_from_logits", [&](const Event& part) { add(parts[part.path].output, part.tensor); });
  update.before_step([&](const ParameterSet&) {
    for (const auto& [name, part] : parts) {
      if (!part.input || !part.output) continue;  // not tied: it has one side
      update.record(name, "parameter", "gradient_norm_input", norm(*part.input));
      update.record(name, "parameter", "gradient_norm_output", norm(*part.output));
    }
  });
}

void watch_update_ratios(ProbedUpdate& update) {
  auto& before = update.keep<Before>();
  update.on_batch([&](std::size_t, const Batch& batch) {
    touch(before.source, batch.source, batch.source_length, batch.source_lengths);
    touch(before.target, batch.target_input, batch.target_length, batch.target_lengths);
  });
  update.on("gradient_from_lookups", [&](const Event& part) { before.sides_of[part.path].insert(part.side); });
  update.before_step([&](const ParameterSet& parameters) {
    before.values.clear();
    for (const Parameter& parameter : parameters) before.values.push_back(parameter.value);
  });
  update.after_step([&](const ParameterSet& parameters) {
    expect(before.values.size() == parameters.size(), "probe",
           "updated() takes the parameters that parameters() has seen");
    for (const Parameter& parameter : parameters) {
      const auto looked_up = before.sides_of.find(parameter.name);
      const bool embedding = looked_up != before.sides_of.end();
      const auto on = [&](ModelSide side) {
        return embedding && (looked_up->second.count(side) != 0 || looked_up->second.count(ModelSide::joined) != 0);
      };
      const bool source = on(ModelSide::source), target = on(ModelSide::target);
      const Tensor& old = before.values[parameter.index];
      const std::size_t width = row_length(old);
      StepSquares touched, untouched;
      Tensor step(Shape{width});
      for (std::size_t r = 0; r < row_count(old); ++r) {
        kernels::subtract(parameter.value.data() + r * width, old.data() + r * width, step.data(), width);
        const bool is_touched = (source && contains(before.source, r)) || (target && contains(before.target, r));
        StepSquares& sums = is_touched ? touched : untouched;
        sums.step += squares(step.data(), width);
        sums.parameter += squares(old.data() + r * width, width);
      }
      const auto record = [&](const char* statistic, const StepSquares& sums) {
        if (sums.parameter > 0)
          update.record(parameter.name, "parameter", statistic, std::sqrt(sums.step / sums.parameter));
      };
      record("update_ratio", {untouched.step + touched.step, untouched.parameter + touched.parameter});
      if (!embedding) continue;
      record("update_ratio_touched", touched);
      record("update_ratio_untouched", untouched);
    }
  });
}

}  // namespace surd
