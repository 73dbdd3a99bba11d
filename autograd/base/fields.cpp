#include "autograd/base/fields.hpp"

#include "autograd/base/registry.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace surd {
namespace {

/// A bound as a person would write it: 100_000_000 instead of 1e+08.
std::string bound(double value) {
  if (std::abs(value) >= 1e15 || value != std::floor(value)) return fmt::format("{:g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  const std::size_t sign = value < 0 ? 1 : 0;
  if (digits.size() - sign < 6) return digits;
  for (std::size_t i = digits.size(); i > sign + 3; i -= 3) digits.insert(i - 3, "_");
  return digits;
}

/// Without what people write otherwise in one name: AdamW, adam_w, adam-w.
std::string plain(std::string_view word) {
  std::string letters;
  for (const char c : word)
    if (c != '_' && c != '-') letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return letters;
}

}  // namespace

bool Range::holds(double value) const {
  return (low_included ? value >= low : value > low) &&
         (high_included ? value <= high : static_cast<float>(value) < static_cast<float>(high));  // as models compute
}

std::string Range::text() const {
  const bool bounded_below = low != -std::numeric_limits<double>::infinity();
  const bool bounded_above = high != std::numeric_limits<double>::infinity();
  if (bounded_below && bounded_above)
    return fmt::format("in {}{}, {}{}", low_included ? '[' : '(', bound(low), bound(high), high_included ? ']' : ')');
  if (bounded_below) return fmt::format("{} {}", low_included ? "at least" : "greater than", bound(low));
  if (bounded_above) return fmt::format("{} {}", high_included ? "at most" : "less than", bound(high));
  return "";
}

bool is_computable(double value) {
  using Float = std::numeric_limits<float>;
  return value == 0 || (std::abs(value) >= Float::min() && std::abs(value) <= Float::max());
}

std::string computable_text(const Range& range) {
  return fmt::format("{}of a size from 1.2e-38 to 3.4e38", range.holds(0) ? "0 or " : "");
}

Range at_least(double low) { return {low}; }
Range above(double low) { return {low, std::numeric_limits<double>::infinity(), false}; }
Range between(double low, double high) { return {low, high}; }
Range fraction() { return {0, 1, true, false}; }

std::string with_value(std::string message, std::string_view value) {
  return message.insert(std::min(message.find(';'), message.size()), fmt::format("; it is {}", value));
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 64;  // the search takes the product of the lengths
  std::string best;
  if (word.size() > longest) return best;
  const std::string from = plain(word);
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const std::string& candidate : candidates) {
    const std::string to = plain(candidate);
    const std::size_t n = from.size(), m = to.size();
    std::vector<std::vector<std::size_t>> distance(n + 1, std::vector<std::size_t>(m + 1));
    for (std::size_t i = 0; i <= n; ++i) distance[i][0] = i;
    for (std::size_t j = 0; j <= m; ++j) distance[0][j] = j;
    for (std::size_t i = 1; i <= n; ++i) {
      for (std::size_t j = 1; j <= m; ++j) {
        const std::size_t substitution = distance[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
        distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, substitution});
        if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
          distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
      }
    }
    if (distance[n][m] < best_distance) {
      best_distance = distance[n][m];
      best = candidate;
    }
  }
  return best;
}

bool includes(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string guess = nearest(word, candidates);
  return guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess);
}

namespace {

/// Throws at the first value out of range and the first broken rule.
class Check : public Fields {
 public:
  explicit Check(std::string where) : where_(std::move(where)) {}

  void rule(bool holds, const char* field, const std::string& message) override {
    if (holds) return;
    const auto value = values_.find(field);
    throw Error(
        fmt::format("{}: {} {}", where_, field, value == values_.end() ? message : with_value(message, value->second)));
  }

 private:
  void number(const Field& field, double value) {
    values_[field.name] = fmt::format("{}", value);
    if (field.read)
      expect(field.range.holds(value), where_, "{} must be {}; got {}", field.name, field.range.text(), value);
  }
  void real_number(const Field& field, double value) {
    number(field, value);
    if (field.read && !std::isinf(value))
      expect(is_computable(value), where_, "{} must be {}; got {}", field.name, computable_text(field.range), value);
  }
  void nested(const Field& field, const std::string& element, const std::function<void(Fields&)>& members) {
    if (!field.read) return;
    // A choice may spread its fields over the group it stands in; it has no name then.
    Check inner(*field.name == '\0' ? where_ : where_ + "." + field.name + element);
    members(inner);
  }

  void visit(const Field&, bool&) override {}
  void visit(const Field& field, std::size_t& value) override { number(field, static_cast<double>(value)); }
  void visit(const Field& field, double& value) override { real_number(field, value); }
  void visit(const Field&, std::string&) override {}
  void visit(const Field& field, std::optional<std::size_t>& value) override {
    if (value) number(field, static_cast<double>(*value));
  }
  void visit(const Field& field, std::optional<double>& value) override {
    if (value) real_number(field, *value);
  }
  void visit(const Field&, Word&) override {}
  void visit(const Field&, std::vector<std::string>&) override {}
  void visit_group(const Field& field, const Members& members) override { nested(field, "", members); }
  void visit_choice(const Field& field, const char*, AnyChoice& choice) override {
    nested(field, "", [&](Fields& f) { choice.fields(f); });
  }
  void visit_list(const Field& field, std::size_t size, const std::function<void(std::size_t)>&,
                  const std::function<void(std::size_t, Fields&)>& members) override {
    for (std::size_t i = 0; i < size; ++i) nested(field, fmt::format("[{}]", i), [&](Fields& f) { members(i, f); });
  }

  std::string where_;
  std::map<std::string, std::string> values_;  // of the numbers so far
};

}  // namespace

void detail::check_options(std::string_view where, const std::function<void(Fields&)>& list) {
  Check check{std::string(where)};
  list(check);
}

}  // namespace surd
