#include "autograd/fields.hpp"

#include "autograd/registry.hpp"

#include <algorithm>

namespace surd {

bool Range::holds(double value) const {
  return (low_included ? value >= low : value > low) && (high_included ? value <= high : value < high);
}

std::string Range::text() const {
  const bool bounded_below = low != -std::numeric_limits<double>::infinity();
  const bool bounded_above = high != std::numeric_limits<double>::infinity();
  if (bounded_below && bounded_above)
    return fmt::format("in {}{:g}, {:g}{}", low_included ? '[' : '(', low, high, high_included ? ']' : ')');
  if (bounded_below) return fmt::format("{} {:g}", low_included ? "at least" : "greater than", low);
  if (bounded_above) return fmt::format("{} {:g}", high_included ? "at most" : "less than", high);
  return "";
}

Range at_least(double low) { return {low}; }
Range above(double low) {
  Range range{low};
  range.low_included = false;
  return range;
}
Range between(double low, double high) { return {low, high}; }
Range fraction() { return {0, 1, true, false}; }

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t n = word.size(), m = candidate.size();
    std::vector<std::vector<std::size_t>> distance(n + 1, std::vector<std::size_t>(m + 1));
    for (std::size_t i = 0; i <= n; ++i) distance[i][0] = i;
    for (std::size_t j = 0; j <= m; ++j) distance[0][j] = j;
    for (std::size_t i = 1; i <= n; ++i) {
      for (std::size_t j = 1; j <= m; ++j) {
        const std::size_t substitution = distance[i - 1][j - 1] + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, substitution});
        if (i > 1 && j > 1 && word[i - 1] == candidate[j - 2] && word[i - 2] == candidate[j - 1])
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

namespace {

/// Throws at the first value out of range and the first broken rule.
class Check : public Fields {
 public:
  explicit Check(std::string where) : where_(std::move(where)) {}

  void rule(bool holds, const char* field, const std::string& message) override {
    expect(holds, where_, "{} {}", field, message);
  }

 private:
  void number(const Field& field, double value) {
    if (field.read)
      expect(field.range.holds(value), where_, "{} must be {}; got {}", field.name, field.range.text(), value);
  }
  void nested(const Field& field, const std::string& element, const std::function<void(Fields&)>& members) {
    if (!field.read) return;
    // A choice may spread its fields over the group it stands in; it has no name then.
    Check inner(*field.name == '\0' ? where_ : where_ + "." + field.name + element);
    members(inner);
  }

  void visit(const Field&, bool&) override {}
  void visit(const Field& field, std::size_t& value) override { number(field, static_cast<double>(value)); }
  void visit(const Field& field, double& value) override { number(field, value); }
  void visit(const Field&, std::string&) override {}
  void visit(const Field& field, std::optional<std::size_t>& value) override {
    if (value) number(field, static_cast<double>(*value));
  }
  void visit(const Field& field, std::optional<double>& value) override {
    if (value) number(field, *value);
  }
  void visit(const Field&, Word&) override {}
  void visit_group(const Field& field, const Members& members) override { nested(field, "", members); }
  void visit_choice(const Field& field, const char*, AnyChoice& choice) override {
    nested(field, "", [&](Fields& f) { choice.fields(f); });
  }
  void visit_list(const Field& field, std::size_t size, const std::function<void(std::size_t)>&,
                  const std::function<void(std::size_t, Fields&)>& members) override {
    for (std::size_t i = 0; i < size; ++i) nested(field, fmt::format("[{}]", i), [&](Fields& f) { members(i, f); });
  }

  std::string where_;
};

}  // namespace

void detail::check_options(std::string_view where, const std::function<void(Fields&)>& list) {
  Check check{std::string(where)};
  list(check);
}

}  // namespace surd
