#include "experiments/study/statistics/formula.hpp"

#include "autograd/base/error.hpp"

#include <muParser.h>

#include <map>

namespace surd {
namespace {

/// Returns f(parser). An exception of muParser becomes an Error.
template <class F>
auto with_parser(const std::string& formula, F f) {
  expect(formula.find('\0') == std::string::npos, "formula", "has a character of code 0; remove it");
  try {
    mu::Parser parser;
    parser.SetExpr(formula);
    return f(parser);
  } catch (const mu::ParserError& error) {
    throw Error(fmt::format("formula '{}': {}", formula, error.GetMsg()));
  }
}

}  // namespace

std::vector<std::string> names_in_formula(const std::string& formula) {
  return with_parser(formula, [](mu::Parser& parser) {
    std::vector<std::string> names;
    for (const auto& [name, where] : parser.GetUsedVar()) names.push_back(name);
    return names;
  });
}

double evaluate_formula(const std::string& formula, const std::function<double(const std::string&)>& number) {
  std::map<std::string, double> numbers;
  for (const std::string& name : names_in_formula(formula)) numbers[name] = number(name);
  return with_parser(formula, [&](mu::Parser& parser) {
    for (auto& [name, value] : numbers) parser.DefineVar(name, &value);
    return parser.Eval();
  });
}

}  // namespace surd
