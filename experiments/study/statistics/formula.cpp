#include "experiments/study/statistics/formula.hpp"

#include "autograd/base/error.hpp"

#include <muParser.h>

#include <map>
#include <regex>

namespace surd {
namespace {

/// Throws Error for what muParser takes and a reader would misread.
void expect_plain(const std::string& formula) {
  expect(formula.find('\0') == std::string::npos, "formula", "has a character of code 0; remove it");
  const auto refuse = [&](const char* why) { throw Error(fmt::format("formula '{}': {}", formula, why)); };
  if (std::regex_search(formula, std::regex(R"(\blog\s*\()")))
    refuse("log is the natural logarithm to some and that of base 10 to others; write ln, log10 or log2");
  // Nothing that ends a comparison stands between the two.
  if (std::regex_search(formula, std::regex(R"([<>]=?[^<>=!&|?:(),]*[<>])")))
    refuse("of two comparisons in a row the second would take the first one's 0 or 1; write a < b && b < c");
}

/// Returns f(parser). An exception of muParser becomes an Error.
template <class F>
auto with_parser(const std::string& formula, F f) {
  expect_plain(formula);
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
