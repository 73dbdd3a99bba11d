#include "experiments/config/read_scalar.hpp"

#include "experiments/config/key_names.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace surd {
namespace {

std::string must_be(const char* what, const Range& range, const YamlNode& node, const std::string& hint) {
  const std::string allowed = range.text();
  return fmt::format("must be {}{}; got {}{}", what, allowed.empty() ? "" : fmt::format(" ({})", allowed),
                     node.described(), hint);
}

template <class T>
std::errc parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return error;
  return end == text.data() + text.size() ? std::errc() : std::errc::invalid_argument;
}

/// The digits of a whole number without the underscores between them, or "" where it is not written like one.
std::string digits_of(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    const bool between = text[i] == '_' && i > 0 && text[i - 1] != '_' && i + 1 < text.size();
    if (!digit && !between) return "";
    if (digit) digits += text[i];
  }
  return digits.size() > 1 && digits[0] == '0' ? "" : digits;
}

std::string whole_number_hint(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::scalar) return "";
  if (node.quoted) return digits_of(node.text).empty() ? "" : "; remove the quotes";
  double value = 0;
  if (parse_number(node.text, value) != std::errc() || !(value >= 0 && value < 1e15) || value != std::floor(value))
    return "";
  return fmt::format("; write {}", static_cast<std::size_t>(value));
}

Complaint read_whole(const char* what, const YamlNode& node, const Range& range, std::size_t& value) {
  const std::string digits = node.kind == YamlNode::Kind::scalar && !node.quoted ? digits_of(node.text) : "";
  if (digits.empty()) return must_be(what, range, node, whole_number_hint(node));
  std::size_t parsed = 0;
  if (parse_number(digits, parsed) != std::errc())  // more digits than the type holds
    return fmt::format(
        "must be {}; got {}",
        std::isfinite(range.high) ? range.text() : fmt::format("at most {}", std::numeric_limits<std::size_t>::max()),
        node.described());
  if (!range.holds(static_cast<double>(parsed)))
    return fmt::format("must be {}; got {}", range.text(), shown(node.text));
  value = parsed;
  return {};
}

Complaint read_number(const char* what, const YamlNode& node, const Range& range, double& value) {
  double parsed = 0;
  const bool plain = node.kind == YamlNode::Kind::scalar && !node.quoted;
  const std::errc error = parse_number(node.text, parsed);
  if (plain && error == std::errc::result_out_of_range)
    return fmt::format("must be {}; got {}", computable_text(range), node.described());
  if (!plain || error != std::errc() || !std::isfinite(parsed)) {
    const bool in_quotes = node.kind == YamlNode::Kind::scalar && node.quoted && error == std::errc();
    const bool infinite = error == std::errc() && !std::isfinite(parsed);
    return must_be(what, range, node, in_quotes ? "; remove the quotes" : infinite ? "; write a finite one" : "");
  }
  if (!range.holds(parsed)) {
    const bool rounded = !range.high_included && parsed >= range.low && parsed < range.high;
    return fmt::format("must be {}; got {}{}", range.text(), shown(node.text),
                       rounded ? fmt::format(", which is {} in single precision", range.high) : "");
  }
  if (!is_computable(parsed)) return fmt::format("must be {}; got {}", computable_text(range), shown(node.text));
  value = parsed;
  return {};
}

std::string empty_text_hint(const YamlNode& node) {
  return node.kind == YamlNode::Kind::null ? "; write '' for an empty text" : "";
}

}  // namespace

Complaint read_scalar(const YamlNode& node, const Range& range, bool& value) {
  const bool plain = node.kind == YamlNode::Kind::scalar && !node.quoted;
  if (!plain || (node.text != "true" && node.text != "false")) return must_be("true or false", range, node, "");
  value = node.text == "true";
  return {};
}

Complaint read_scalar(const YamlNode& node, const Range& range, std::size_t& value) {
  return read_whole("a whole number", node, range, value);
}

Complaint read_scalar(const YamlNode& node, const Range& range, double& value) {
  return read_number("a number", node, range, value);
}

Complaint read_scalar(const YamlNode& node, const Range& range, std::string& value) {
  if (node.kind != YamlNode::Kind::scalar) return must_be("text", range, node, empty_text_hint(node));
  value = node.text;
  return {};
}

Complaint read_scalar(const YamlNode& node, const Range& range, std::optional<std::size_t>& value) {
  std::size_t parsed = 0;
  const bool null = node.kind == YamlNode::Kind::null;
  Complaint complaint = null ? std::nullopt : read_whole("a whole number or null", node, range, parsed);
  if (!complaint) value = null ? std::nullopt : std::optional<std::size_t>(parsed);
  return complaint;
}

Complaint read_scalar(const YamlNode& node, const Range& range, std::optional<double>& value) {
  double parsed = 0;
  const bool null = node.kind == YamlNode::Kind::null;
  Complaint complaint = null ? std::nullopt : read_number("a number or null", node, range, parsed);
  if (!complaint) value = null ? std::nullopt : std::optional<double>(parsed);
  return complaint;
}

Complaint read_scalar(const YamlNode& node, const Range&, Word& value) {
  if (node.kind == YamlNode::Kind::scalar && value.parse(node.text)) return {};
  return fmt::format("must be {}; got {}{}", value.allowed(), node.described(),
                     node.kind == YamlNode::Kind::scalar ? suggestion(node.text, value.choices()) : "");
}

std::string scalar_text(bool value) { return value ? "true" : "false"; }
std::string scalar_text(std::size_t value) { return fmt::format("{}", value); }
std::string scalar_text(double value) { return fmt::format("{}", value); }
std::string scalar_text(const std::string& value) { return value; }
std::string scalar_text(const std::optional<std::size_t>& value) { return value ? scalar_text(*value) : "null"; }
std::string scalar_text(const std::optional<double>& value) { return value ? scalar_text(*value) : "null"; }
std::string scalar_text(const Word& value) { return value.text(); }

}  // namespace surd
