#pragma once

#include "autograd/base/registry.hpp"
#include "layers/module.hpp"

namespace surd {

/// Normalisation of the last axis.
class Norm : public Module {
 public:
  using Module::Module;
  /// [..., d] -> [..., d]
  Variable operator()(Variable x) const {
    const auto region = enter(x.tape());
    return forward(x);
  }

 protected:
  virtual Variable forward(Variable x) const = 0;
};

struct NormOptions {
  double epsilon = 1e-5;
  void fields(Fields& f) { f("epsilon", epsilon, "added to the variance (mean square) before the root", above(0)); }
};

struct LayerNormOptions : NormOptions {
  bool gain = true;
  bool bias = true;

  void fields(Fields& f) {
    NormOptions::fields(f);
    f("gain", gain, "whether there is a learned gain a column");
    f("bias", bias, "whether there is a learned bias a column");
  }
};

/// (x - mean) / sqrt(var + epsilon) * weight + bias, either of which the options can leave out. Ba et al., arXiv
/// 1607.06450.
class LayerNorm : public Norm {
 public:
  using Options = LayerNormOptions;
  LayerNorm(const Scope& scope, std::size_t dimension, const Options& options);

 protected:
  Variable forward(Variable x) const override;

 private:
  Parameter* weight_;  // null: none
  Parameter* bias_;    // null: none
  Real epsilon_;
};

/// x / sqrt(mean(x^2) + epsilon) * weight. Zhang & Sennrich, arXiv 1910.07467.
class RMSNorm : public Norm {
 public:
  using Options = NormOptions;
  RMSNorm(const Scope& scope, std::size_t dimension, const Options& options);

 protected:
  Variable forward(Variable x) const override;

 private:
  Parameter& weight_;
  Real epsilon_;
};

/// g x / |x| with one learned g that starts at sqrt(d). Nguyen & Salazar, arXiv 1910.05895, section 2.2. Written as
/// (g / sqrt(d)) x / rms(x), so that epsilon means what it means in RMSNorm.
class ScaleNorm : public Norm {
 public:
  using Options = NormOptions;
  ScaleNorm(const Scope& scope, std::size_t dimension, const Options& options);

 protected:
  Variable forward(Variable x) const override;

 private:
  Parameter& scale_;
  Real inv_sqrt_dimension_;
  Real epsilon_;
};

/// The norms a config can name: made from (scope, dimension, options).
using NormRegistry = Registry<Norm(const Scope&, std::size_t)>;
using NormChoice = Choice<Norm(const Scope&, std::size_t)>;
NormRegistry& norms();

}  // namespace surd
