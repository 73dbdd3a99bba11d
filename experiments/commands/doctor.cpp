#include "autograd/blas.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/run/system_info.hpp"
#include "experiments/study/execution/workers/file_system_check.hpp"

#include <fmt/format.h>

namespace surd {
namespace {

struct DoctorArguments {
  std::string folder;

  void fields(Fields& f) { f("folder", folder, "test its file system, for studies that several machines work on"); }
};

bool print_file_system(const std::string& folder) {
  bool passed = true;
  fmt::print("\n");
  for (const FileSystemCheck& check : check_file_system(folder)) {
    fmt::print("{:<14} {}: {}\n", check.name, check.passed ? "passed" : "FAILED", check.finding);
    passed = passed && check.passed;
  }
  return passed;
}

int doctor_command(const DoctorArguments& arguments) {
  for (const auto& [key, value] : system_info()) fmt::print("{:<14} {}\n", key, value);
  const double error = blas::self_test_error(), allowed = blas::self_test_tolerance();
  bool passed = error <= allowed;
  fmt::print("{:<14} {}: error {:.2g} of matrix products of numbers up to 1, allowed {:.2g}\n", "self_test",
             passed ? "passed" : "FAILED", error, allowed);
  if (!arguments.folder.empty()) passed = print_file_system(arguments.folder) && passed;
  return passed ? exit_done : exit_failed;
}

}  // namespace

void add_doctor(CommandTable& table) {
  table.add("doctor", "Print and test what results depend on", {"folder?"}, doctor_command);
}

}  // namespace surd
