#pragma once

#include "autograd/ops.hpp"
#include "layers/init.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surd {

/// Where a module is built: its path, the set its parameters go to, and the seed of their initial values.
class Scope {
 public:
  Scope(ParameterSet& parameters, std::uint64_t seed)
      : parameters_(&parameters), seed_(seed), factors_(std::make_shared<Factors>()) {}

  /// The scope of a child: "encoder" / "0" is "encoder.0".
  Scope operator/(std::string_view name) const;
  Scope operator/(std::size_t index) const { return *this / std::to_string(index); }

  const std::string& path() const { return path_; }

  /// The same place in a stack whose sub-layers, so many, add to one shortcut. 1 where nobody said.
  Scope among_sub_layers(std::size_t count) const;
  std::size_t sub_layers() const { return sub_layers_; }

  /// A new parameter "path.name". Its draws are keyed by (seed, "init", that name), so that they do not depend on which
  /// other parameters there are. The reference stays valid as long as the ParameterSet. Throws Error where there is one
  /// of this name.
  Parameter& parameter(std::string_view name, const Shape& shape, const Initializer& initializer) const;
  /// The same for one that several modules share: the first to ask makes it. Throws Error where the shape differs.
  Parameter& shared_parameter(std::string_view name, const Shape& shape, const Initializer& initializer) const;

  /// Whether parameters are only counted here: what is slow to compute, or large, is not needed then.
  bool only_counts() const { return parameters_->only_counts(); }

  /// Every factor by name with its resolved value, ("embedding", "x8 = sqrt(64)"), for a run's first lines. A layer
  /// declares its own; layers that declare the same thing count once.
  using Factors = std::vector<std::pair<std::string, std::string>>;
  void declare_factor(std::string_view name, std::string_view value) const;
  const Factors& factors() const { return *factors_; }

 private:
  std::string path_;
  ParameterSet* parameters_;
  std::uint64_t seed_;
  std::size_t sub_layers_ = 1;
  std::shared_ptr<Factors> factors_;
};

/// A part of a model: it owns children and refers to its parameters. Computing with it does not change it, so replicas
/// share one model, each with a tape of its own.
class Module {
 public:
  explicit Module(const Scope& scope) : path_(scope.path()) {}
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::string& path() const { return path_; }

 protected:
  /// Put `const auto region = enter(x.tape());` first in a forward function: values recorded while it lives are
  /// attributed to this module in diagnostics and error messages.
  Tape::Region enter(Tape& tape) const { return {tape, path_}; }

 private:
  std::string path_;
};

/// Inverted dropout with the module's own random stream.
class Dropout : public Module {
 public:
  Dropout(const Scope& scope, double rate) : Module(scope), rate_(rate) {}
  Variable operator()(Variable x) const {  ///< [...] -> [...]
    const auto region = enter(x.tape());
    return dropout(x, rate_, x.tape().stream("dropout", path()));
  }
  /// shortcut + dropout(x): [...], [...] -> [...]
  Variable add_to(Variable shortcut, Variable x) const {
    const auto region = enter(x.tape());
    return add_dropout(shortcut, x, rate_, x.tape().stream("dropout", path()));
  }

 private:
  double rate_;
};

}  // namespace surd
