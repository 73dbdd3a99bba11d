#pragma once

#include "autograd/base/fields.hpp"
#include "experiments/config/yaml_node.hpp"

#include <cstddef>
#include <optional>
#include <string>

/// How a single value is written. Nothing is guessed: what is not written in one of these forms is refused.
///
///     bool         true or false
///     whole number decimal digits without sign or leading zeros, `_` between digits allowed: 64, 100_000
///     number       decimal, finite: 0.1, 1e-4, -2
///     text         anything, in quotes where YAML asks for them; '' is the empty text
///     optional     its value, or null
///     word         the forms the Word takes
///
/// Numbers, bools and null do not stand in quotes.
namespace surd {

/// What is wrong with a value, e.g. "must be at least 1; got 0"; nothing where it was read. `value` is changed only
/// where it is read and in range.
using Complaint = std::optional<std::string>;

Complaint read_scalar(const YamlNode& node, const Range& range, bool& value);
Complaint read_scalar(const YamlNode& node, const Range& range, std::size_t& value);
Complaint read_scalar(const YamlNode& node, const Range& range, double& value);
Complaint read_scalar(const YamlNode& node, const Range& range, std::string& value);
Complaint read_scalar(const YamlNode& node, const Range& range, std::optional<std::size_t>& value);
Complaint read_scalar(const YamlNode& node, const Range& range, std::optional<double>& value);
Complaint read_scalar(const YamlNode& node, const Range& range, Word& value);

/// The same values as text, such that reading gives the same value again. Strings are not quoted.
std::string scalar_text(bool value);
std::string scalar_text(std::size_t value);
std::string scalar_text(double value);
std::string scalar_text(const std::string& value);
std::string scalar_text(const std::optional<std::size_t>& value);
std::string scalar_text(const std::optional<double>& value);
std::string scalar_text(const Word& value);

}  // namespace surd
