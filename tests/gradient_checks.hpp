#pragma once

#include "autograd/gradcheck.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

/// Gradient checks as doctest assertions, counted: a run that made N of them ends with the line "N gradient checks".
namespace surd::test {

inline std::size_t& gradient_check_count() {
  static std::size_t count = 0;
  return count;
}

using GradientFunction = std::function<Variable(Tape&, const std::vector<Variable>&)>;

/// One gradcheck of f for each of `seeds` random cotangents, at inputs(seed).
inline void check_gradients(const std::string& name, const GradientFunction& f,
                            const std::function<std::vector<Tensor>(std::uint64_t seed)>& inputs,
                            ParameterSet* parameters = nullptr, std::uint64_t seeds = 3) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    GradcheckArguments options;
    options.seed = seed;
    const GradcheckResult result = gradcheck(f, inputs(seed), parameters, options);
    ++gradient_check_count();
    CHECK_MESSAGE(result.passed, name, ", seed ", seed, ": deviation ", result.worst, " at ", result.where);
  }
}

/// The same at fixed inputs.
inline void check_gradients(const std::string& name, const GradientFunction& f, const std::vector<Tensor>& inputs,
                            ParameterSet* parameters = nullptr, std::uint64_t seeds = 3) {
  check_gradients(
      name, f, [&](std::uint64_t) { return inputs; }, parameters, seeds);
}

/// Prints the count when the run is over. Registered under one name, so once, however many files include this.
class GradientCheckListener : public doctest::IReporter {
 public:
  explicit GradientCheckListener(const doctest::ContextOptions& options) : options_(options) {}
  void test_run_end(const doctest::TestRunStats&) override {
    if (gradient_check_count() > 0) *options_.cout << gradient_check_count() << " gradient checks" << std::endl;
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  const doctest::ContextOptions& options_;
};
REGISTER_LISTENER("gradient_checks", 1, GradientCheckListener);

}  // namespace surd::test
