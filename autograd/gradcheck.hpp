#pragma once

#include "autograd/tape.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace surd {

struct GradcheckArguments {
  double step = 1e-5;       ///< of the central difference, times max(1, |x|)
  double tolerance = 1e-6;  ///< on |numeric - analytic| / max(1e-3, largest gradient of the tensor)
  std::uint64_t seed = 0;   ///< of the random cotangent
  std::size_t probes = 64;  ///< elements tried per tensor; all of them where it has no more
};

struct GradcheckResult {
  double worst = 0;   ///< largest relative deviation
  std::string where;  ///< of that deviation
  bool passed = false;
};

/// Compares backward with central differences of <cotangent, f(inputs)>, for a random cotangent: a plain sum would test
/// nothing behind a softmax, whose gradients sum to zero. Differences are only sharp in the double build.
///
/// `f` computes from leaves made of `inputs` on the tape it is given; gradients of the parameters in `parameters` are
/// checked as well. f must be a pure function, so dropout needs a fixed stream.
GradcheckResult gradcheck(const std::function<Variable(Tape&, const std::vector<Variable>&)>& f,
                          std::vector<Tensor> inputs, ParameterSet* parameters = nullptr,
                          const GradcheckArguments& options = {});

}  // namespace surd
