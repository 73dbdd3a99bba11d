#pragma once

#include "autograd/base/registry.hpp"
#include "layers/factor.hpp"

#include <string>

namespace surd {

/// What is added to the token embeddings to tell positions apart.
class Positions : public Module {
 public:
  using Module::Module;

  /// A table [P, d_model] with P >= length whose row t belongs to position t; absent where nothing is added. Throws
  /// Error where the table is too short.
  Variable operator()(Tape& tape, std::size_t length) const {
    const auto region = enter(tape);
    return table(tape, length);
  }
  /// Longest sequence there are positions for.
  virtual std::size_t max_length() const { return static_cast<std::size_t>(-1); }

 protected:
  virtual Variable table(Tape& tape, std::size_t length) const = 0;
};

/// sin and cos side by side in columns 2i and 2i + 1, or all sin before all cos.
enum class SinusoidLayout { interleaved, sin_then_cos };
/// The exponent of the wavelength 10000^(i / denominator): d/2 in the paper, d/2 - 1 in tensor2tensor and its heirs.
enum class SinusoidDenominator { half_dim, half_dim_minus_one };
std::vector<std::string> names_of(SinusoidLayout);
std::vector<std::string> names_of(SinusoidDenominator);

struct SinusoidalOptions {
  SinusoidLayout layout = SinusoidLayout::interleaved;
  SinusoidDenominator denominator = SinusoidDenominator::half_dim;
  std::size_t offset = 0;
  Scale scale = Scale::Rule::one;
  bool centred = false;
  std::size_t centred_length = 10;
  std::size_t max_length = 512;

  void fields(Fields& f) {
    f("layout", layout, "order of the sine and cosine columns");
    f("denominator", denominator, "of the exponent i / denominator of the wavelengths");
    f("offset", offset, "position number of the first token", between(0, 10'000'000));
    f("scale", scale, "factor on the encoding, over d_model");
    f("centred", centred, "remove the encoding's mean over the first `centred_length` positions");
    f("centred_length", centred_length, "positions that mean is taken over", at_least(1),
      When{centred, "centred is true"});
    f("max_length", max_length, "longest sequence", Unit{"positions"}, between(1, 100'000));
    f.rule(!centred || centred_length <= max_length, "centred_length",
           fmt::format("must be at most max_length = {}", max_length));
  }
};

/// sin(p / 10000^(i / denominator)), cos(...) for i = 0 .. d/2 - 1. Vaswani et al., section 3.5.
class SinusoidalPositions : public Positions {
 public:
  using Options = SinusoidalOptions;
  /// Throws Error unless d_model is even (and at least 4 with half_dim_minus_one).
  SinusoidalPositions(const Scope& scope, std::size_t d_model, const Options& options);
  std::size_t max_length() const override { return options_.max_length; }

 protected:
  Variable table(Tape& tape, std::size_t length) const override;

 private:
  Options options_;
  Factor factor_;
  Tensor table_;  // [max_length, d_model], times the factor unless that is learned
};

struct LearnedPositionsOptions {
  std::size_t max_length = 512;
  Scale scale = Scale::Rule::one;
  InitOptions init = InitOptions::normal(Scale::Rule::inv_sqrt_dim);
  bool shared = true;

  void fields(Fields& f) {
    f("max_length", max_length, "longest sequence", Unit{"positions"}, between(1, 100'000));
    f("shared", shared, "one table for both sides; false: source and target have each their own");
    f("scale", scale, "factor on the encoding, over d_model");
    f("init", init, "initial table");
    f.rule(!scale.learned(), "scale", "of a learned table cannot be learned as well; remove the word 'learned'");
  }
};

/// A trained row a position: the parameter "weight" [max_length, d_model] of both sides, or "source" and "target".
class LearnedPositions : public Positions {
 public:
  using Options = LearnedPositionsOptions;
  LearnedPositions(const Scope& scope, std::size_t d_model, const Options& options);
  std::size_t max_length() const override { return options_.max_length; }

 protected:
  Variable table(Tape& tape, std::size_t length) const override;

 private:
  Options options_;
  Factor factor_;
  Parameter& target_;
  Parameter& source_;
};

/// Adds nothing.
class NoPositions : public Positions {
 public:
  using Options = NoOptions;
  NoPositions(const Scope& scope, std::size_t, const Options&) : Positions(scope) {}

 protected:
  Variable table(Tape&, std::size_t) const override { return {}; }
};

/// The positional encodings a config can name: made from (scope, d_model, options).
using PositionsRegistry = Registry<Positions(const Scope&, std::size_t)>;
using PositionsChoice = Choice<Positions(const Scope&, std::size_t)>;
PositionsRegistry& positions();

}  // namespace surd
