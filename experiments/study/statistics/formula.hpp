#pragma once

#include <functional>
#include <string>
#include <vector>

namespace surd {

/// The names that a formula such as "ln(V) + sigma^2 * d_model / 2" refers to, in alphabetical order. Operators are
/// + - * / ^, comparisons, && and ||, a ? b : c, functions ln, sqrt, exp, min, max and the others of muParser. Throws
/// Error with the formula and the place of its mistake.
std::vector<std::string> names_in_formula(const std::string& formula);

/// The value of a formula; `number` is asked once for each name in it.
double evaluate_formula(const std::string& formula, const std::function<double(const std::string&)>& number);

}  // namespace surd
