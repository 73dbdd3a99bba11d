#include "layers/scale.hpp"

#include <charconv>
#include <cmath>
#include <optional>

namespace surd {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !is_computable(value)) return std::nullopt;
  return value;
}

/// The texts of a number after `sign`, a rule, or both, as a regular expression.
std::string factor_pattern(const char* sign) {
  const std::string gain = fmt::format("{}([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?", sign);
  return fmt::format("({0}|({0} *\\* *)?({1}))", gain, fmt::join(names_of(Scale::Rule{}), "|"));
}

}  // namespace

std::vector<std::string> names_of(Scale::Rule) { return {"one", "sqrt_dim", "inv_sqrt_dim", "inv_dim"}; }

double Scale::value(std::size_t dimension) const {
  const auto d = static_cast<double>(dimension);
  switch (rule_) {
    case Rule::one: break;
    case Rule::sqrt_dim: return gain_ * std::sqrt(d);
    case Rule::inv_sqrt_dim: return gain_ / std::sqrt(d);
    case Rule::inv_dim: return gain_ / d;
  }
  return gain_;
}

std::string Scale::describe(std::size_t dimension) const {
  std::string origin;
  const std::string multiple = gain_ == 1 ? "" : fmt::format("{:g} ", gain_);
  switch (rule_) {
    case Rule::one: break;
    case Rule::sqrt_dim: origin = fmt::format(" = {}sqrt({})", multiple, dimension); break;
    case Rule::inv_sqrt_dim: origin = fmt::format(" = {:g}/sqrt({})", gain_, dimension); break;
    case Rule::inv_dim: origin = fmt::format(" = {:g}/{}", gain_, dimension); break;
  }
  return fmt::format("x{:.4g}{}{}", value(dimension), origin, learned_ ? ", learned" : "");
}

std::string Scale::text() const {
  std::string text;
  if (rule_ == Rule::one)
    text = gain_ == 1 ? "one" : fmt::format("{}", gain_);
  else
    text = (gain_ == 1 ? "" : fmt::format("{} * ", gain_)) + name_of(rule_);
  return learned_ ? "learned " + text : text;
}

bool Scale::parse(std::string_view text) {
  Scale parsed;
  text = trimmed(text);
  if (text == "learned") {
    parsed.learned_ = true;
    text = "one";
  } else if (text.substr(0, 8) == "learned ") {
    parsed.learned_ = true;
    text = trimmed(text.substr(8));
  }
  if (const auto gain = number(text)) {
    parsed.gain_ = *gain;
    *this = parsed;
    return true;
  }
  if (const auto star = text.find('*'); star != std::string_view::npos) {
    const auto gain = number(trimmed(text.substr(0, star)));
    if (!gain) return false;
    parsed.gain_ = *gain;
    text = trimmed(text.substr(star + 1));
  }
  detail::EnumWord<Rule> rule(parsed.rule_);
  if (!rule.parse(text)) return false;
  *this = parsed;
  return true;
}

std::vector<std::string> Scale::choices() const {
  auto words = names_of(Rule{});
  words.emplace_back("learned");
  return words;
}

std::string Scale::allowed() const {
  return "one, sqrt_dim, inv_sqrt_dim, inv_dim, a number, a number times one of these (8 * inv_dim), or any of these "
         "after 'learned'";
}

std::optional<std::string> Scale::pattern() const {
  return fmt::format(" *(learned|(learned +)?{}) *", factor_pattern("-?"));
}

bool FixedScale::parse(std::string_view text) {
  Scale parsed;
  if (!parsed.parse(text) || parsed.learned() || parsed.value(1) < 0) return false;
  return Scale::parse(text);
}

std::string FixedScale::allowed() const {
  return "one, sqrt_dim, inv_sqrt_dim, inv_dim, a number from 0 on, or such a number times one of these (8 * inv_dim)";
}

std::optional<std::string> FixedScale::pattern() const { return fmt::format(" *{} *", factor_pattern("")); }

}  // namespace surd
