#include "autograd/blas.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/run/system_info.hpp"

#include <fmt/format.h>

namespace surd {
namespace {

int doctor_command() {
  for (const auto& [key, value] : system_info()) fmt::print("{:<14} {}\n", key, value);
  const double error = blas::self_test_error(), allowed = blas::self_test_tolerance();
  const bool passed = error <= allowed;
  fmt::print("{:<14} {}: relative error {:.2g} of matrix products, allowed {:.2g}\n", "self_test",
             passed ? "passed" : "FAILED", error, allowed);
  return passed ? exit_done : exit_failed;
}

}  // namespace

void add_doctor(CommandTable& table) { table.add("doctor", "Print and test what results depend on", doctor_command); }

}  // namespace surd
