#include "autograd/ops/attention_head.hpp"
#include "tests/autograd/reals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

namespace surd {
namespace {

using test::draw;
using test::eps;
using test::not_a_number;
using test::Reals;

constexpr Real factor = Real(0.3);

/// Rows of a head between columns of others, which nobody may read or write: they hold NaN.
class Spaced {
 public:
  Spaced(std::size_t rows, std::size_t columns, std::uint64_t seed) : columns_(columns), values_(rows * stride() + 3) {
    const Reals inner = draw(rows * columns, seed);
    std::fill(values_.begin(), values_.end(), not_a_number);
    for (std::size_t i = 0; i < rows * columns; ++i) values_[3 + i / columns * stride() + i % columns] = inner[i];
  }
  std::size_t stride() const { return columns_ + 5; }
  kernels::Rows rows() const { return {values_.data() + 3, stride()}; }
  kernels::MutableRows mutable_rows() { return {values_.data() + 3, stride()}; }
  double operator()(std::size_t i, std::size_t j) const { return static_cast<double>(values_[3 + i * stride() + j]); }
  /// Whether what lies between the rows is as it was.
  bool gaps_are_whole() const {
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (is_gap(i) && !std::isnan(values_[i])) return false;
    return true;
  }
  /// Whether the rows are those of x, and nothing was written between them.
  bool same(const Spaced& x) const {
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (!is_gap(i) && values_[i] != x.values_[i]) return false;
    return gaps_are_whole() && x.gaps_are_whole();
  }

 private:
  bool is_gap(std::size_t i) const { return i < 3 || (i - 3) % stride() >= columns_; }

  std::size_t columns_;
  Reals values_;
};

void for_short_heads(const std::function<void(const kernels::HeadSizes&)>& check) {
  const auto check_head = [&](std::size_t queries, std::size_t keys, std::size_t key_width, std::size_t value_width) {
    const kernels::HeadSizes sizes{queries, keys, key_width, value_width};
    CAPTURE(queries);
    CAPTURE(keys);
    CAPTURE(key_width);
    CAPTURE(value_width);
    REQUIRE(kernels::are_short_heads(sizes));
    check(sizes);
  };
  const std::size_t longest = kernels::longest_short_head(), widest = 64;
  for (std::size_t length = 1; length <= longest; ++length) {
    for (const std::size_t other : {std::size_t{1}, std::size_t{5}, std::size_t{13}, std::size_t{16}, longest}) {
      check_head(length, other, 3, 17);
      check_head(other, length, 8, 16);
    }
  }
  for (std::size_t width = 1; width <= widest; ++width) {
    check_head(5, 7, width, widest + 1 - width);
    check_head(13, 13, width, width);
    check_head(longest, longest, width, widest + 1 - width);
  }
}

std::vector<std::size_t> staircase(const kernels::HeadSizes& s) {
  std::vector<std::size_t> visible(s.queries);
  for (std::size_t t = 0; t < s.queries; ++t) visible[t] = (t * 5 + s.keys) % (s.keys + 1);  // all of them, 0 too
  return visible;
}

double off(double value, double exact) {
  const double error = std::fabs(value - exact) / (1 + std::fabs(exact));
  return std::isnan(error) ? static_cast<double>(test::infinity) : error;  // or std::max would drop it
}

TEST_CASE("weights of a short head") {
  for_short_heads([](const kernels::HeadSizes& s) {
    const Spaced q(s.queries, s.key_width, 1), k(s.keys, s.key_width, 2);
    const Reals bias = draw(s.queries + s.keys - 1, 3);
    const std::vector<std::size_t> visible = staircase(s);
    for (const Real cap : {Real(0), Real(0.7)})
      for (const bool biased : {false, true})
        for (const bool subtract_max : {false, true})
          for (const bool shown : {false, true}) {
            Reals scores(s.queries * s.row() + 1, 7), weights = scores;
            attention_head::weights(s, q.rows(), k.rows(), factor, {biased ? bias.data() : nullptr, 0}, cap,
                                    visible.data(), subtract_max, shown ? scores.data() : nullptr, weights.data());
            double worst = 0;
            bool hidden_are_zero = true;
            for (std::size_t t = 0; t < s.queries; ++t) {
              std::vector<double> exact(s.keys);
              double total = 0;
              for (std::size_t j = 0; j < s.keys; ++j) {
                for (std::size_t l = 0; l < s.key_width; ++l) exact[j] += q(t, l) * k(j, l);
                exact[j] *= static_cast<double>(factor);
                if (biased) exact[j] += static_cast<double>(bias[s.queries - 1 - t + j]);
                const auto most = static_cast<double>(cap);
                if (cap > 0) exact[j] = most * std::tanh(exact[j] / most);
                if (j < visible[t]) total += std::exp(exact[j]);
                if (shown) worst = std::max(worst, off(static_cast<double>(scores[t * s.row() + j]), exact[j]));
              }
              for (std::size_t j = 0; j < s.row(); ++j) {
                const Real weight = weights[t * s.row() + j];
                if (j < visible[t])
                  worst = std::max(worst, off(static_cast<double>(weight), std::exp(exact[j]) / total));
                else
                  hidden_are_zero = hidden_are_zero && weight == 0;
              }
            }
            CHECK(worst < 60 * eps);
            CHECK(hidden_are_zero);
            CHECK(weights.back() == 7);
            CHECK(scores.back() == 7);
            CHECK((shown || scores.front() == 7));
          }
  });
}

TEST_CASE("a query of a short head has the bits of one alone, whatever the queries beside it are") {
  for_short_heads([](const kernels::HeadSizes& s) {
    Spaced q(s.queries, s.key_width, 1);
    const Spaced k(s.keys, s.key_width, 2);
    const std::vector<std::size_t> visible(s.queries, s.keys);
    const auto weights_of = [&](const kernels::HeadSizes& sizes, std::size_t first) {
      Reals weights(sizes.queries * s.row());
      const kernels::Rows rows{q.rows().data + first * q.stride(), q.stride()};
      attention_head::weights(sizes, rows, k.rows(), factor, {nullptr, 0}, 0, visible.data(), true, nullptr,
                              weights.data());
      return weights;
    };
    kernels::HeadSizes one = s;
    one.queries = 1;
    std::vector<Reals> alone;
    for (std::size_t t = 0; t < s.queries; ++t) alone.push_back(weights_of(one, t));
    const std::size_t bad = s.queries / 2;
    for (const Real element : {test::infinity, not_a_number}) {
      q.mutable_rows().data[bad * q.stride()] = element;
      const Reals together = weights_of(s, 0);
      bool same = true;
      for (std::size_t t = 0; t < s.queries; ++t)
        if (t != bad)
          same = same && std::equal(alone[t].begin(), alone[t].end(),
                                    together.begin() + static_cast<std::ptrdiff_t>(t * s.row()));
      CHECK(same);
      CHECK(std::isnan(together[bad * s.row()]));
    }
  });
}

TEST_CASE("scores of a short head that are too large for exp without the maximum are infinite") {
  const Reals q = {Real(1000)}, k = {Real(1), Real(0)};
  const kernels::HeadSizes sizes{1, 2, 1, 1};
  const std::size_t visible = 2;
  Reals weights(16);
  attention_head::weights(sizes, {q.data(), 1}, {k.data(), 1}, 1, {nullptr, 0}, 0, &visible, true, nullptr,
                          weights.data());
  CHECK(weights[0] == 1);
  CHECK(weights[1] == 0);
  attention_head::weights(sizes, {q.data(), 1}, {k.data(), 1}, 1, {nullptr, 0}, 0, &visible, false, nullptr,
                          weights.data());
  CHECK(std::isnan(weights[0]));
}

constexpr Real keep_scales[] = {1, Real(1.5)};  // without dropout and with it

/// Weights of which, with dropout, every third is marked as dropped; 0 beyond what is visible.
Reals marked_weights(const kernels::HeadSizes& s, Real keep_scale) {
  const std::vector<std::size_t> visible = staircase(s);
  Reals p = draw(s.queries * s.row(), 4);
  for (std::size_t i = 0; i < p.size(); ++i) {
    p[i] = i % s.row() < visible[i / s.row()] ? std::fabs(p[i]) : Real(0);
    if (keep_scale != 1 && i % 3 == 1) p[i] = -p[i];
  }
  return p;
}

double kept(Real p, Real keep_scale) { return p < 0 ? 0 : static_cast<double>(keep_scale) * static_cast<double>(p); }

TEST_CASE("output of a short head") {
  for_short_heads([](const kernels::HeadSizes& s) {
    const Spaced v(s.keys, s.value_width, 5);
    for (const Real keep_scale : keep_scales) {
      Spaced o(s.queries, s.value_width, 6);
      const Reals p = marked_weights(s, keep_scale);
      Reals memory(p.size());
      attention_head::output(s, p.data(), keep_scale, v.rows(), memory.data(), o.mutable_rows());
      double worst = 0;
      for (std::size_t t = 0; t < s.queries; ++t)
        for (std::size_t c = 0; c < s.value_width; ++c) {
          double exact = 0;
          for (std::size_t j = 0; j < s.keys; ++j) exact += kept(p[t * s.row() + j], keep_scale) * v(j, c);
          worst = std::max(worst, off(o(t, c), exact));
        }
      CHECK(worst < 100 * eps);
      CHECK(o.gaps_are_whole());
    }
  });
}

TEST_CASE("gradients of a short head") {
  for_short_heads([](const kernels::HeadSizes& s) {
    const Spaced q(s.queries, s.key_width, 1), k(s.keys, s.key_width, 2), v(s.keys, s.value_width, 5);
    const Spaced d_o(s.queries, s.value_width, 7);
    const Reals scores = draw(s.queries * s.row(), 12, 0.2);
    for (const int variant : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const bool add = variant % 2 == 1, capped = variant / 2 % 2 == 1;
      const Real keep_scale = keep_scales[variant / 4];
      CAPTURE(variant);
      const Reals p = marked_weights(s, keep_scale);
      const Real cap = capped ? Real(0.9) : Real(0);
      const Spaced k_before(s.keys, s.key_width, 9), v_before(s.keys, s.value_width, 10);
      Spaced dq(s.queries, s.key_width, 8), dk = k_before, dv = v_before;
      Reals ds(s.queries * s.row() + 1, 7);
      attention_head::backward(s, q.rows(), k.rows(), v.rows(), factor, cap, scores.data(), p.data(), keep_scale,
                               d_o.rows(), ds.data(), {dq.mutable_rows(), dk.mutable_rows(), dv.mutable_rows(), add});
      std::vector<double> exact_ds(s.queries * s.row());
      double worst = 0;
      for (std::size_t t = 0; t < s.queries; ++t) {
        std::vector<double> dz(s.keys);
        double inner = 0;
        for (std::size_t j = 0; j < s.keys; ++j) {
          const Real weight = p[t * s.row() + j];
          for (std::size_t c = 0; weight > 0 && c < s.value_width; ++c)
            dz[j] += static_cast<double>(keep_scale) * d_o(t, c) * v(j, c);
          inner += std::fabs(static_cast<double>(weight)) * dz[j];
        }
        for (std::size_t j = 0; j < s.row(); ++j) {
          const double weight = std::fabs(static_cast<double>(p[t * s.row() + j]));
          const double share = capped ? static_cast<double>(scores[t * s.row() + j]) / static_cast<double>(cap) : 0;
          exact_ds[t * s.row() + j] = j < s.keys ? weight * (dz[j] - inner) * (1 - share * share) : 0;
          worst = std::max(worst, off(static_cast<double>(ds[t * s.row() + j]), exact_ds[t * s.row() + j]));
        }
      }
      CHECK(worst < 1000 * eps);  // sums of up to 32 products of numbers as large as 30
      worst = 0;
      for (std::size_t t = 0; t < s.queries; ++t)
        for (std::size_t l = 0; l < s.key_width; ++l) {
          double exact = 0;
          for (std::size_t j = 0; j < s.keys; ++j)
            exact += static_cast<double>(factor) * exact_ds[t * s.row() + j] * k(j, l);
          worst = std::max(worst, off(dq(t, l), exact));
        }
      for (std::size_t j = 0; j < s.keys; ++j) {
        for (std::size_t l = 0; l < s.key_width; ++l) {
          double exact = add ? k_before(j, l) : 0;
          for (std::size_t t = 0; t < s.queries; ++t)
            exact += static_cast<double>(factor) * exact_ds[t * s.row() + j] * q(t, l);
          worst = std::max(worst, off(dk(j, l), exact));
        }
        for (std::size_t c = 0; c < s.value_width; ++c) {
          double exact = add ? v_before(j, c) : 0;
          for (std::size_t t = 0; t < s.queries; ++t) exact += kept(p[t * s.row() + j], keep_scale) * d_o(t, c);
          worst = std::max(worst, off(dv(j, c), exact));
        }
      }
      CHECK(worst < 2000 * eps);
      CHECK(dq.gaps_are_whole());
      CHECK(dk.gaps_are_whole());
      CHECK(dv.gaps_are_whole());
      CHECK(ds.back() == 7);
    }
  });
}

TEST_CASE("gradients of a short head that nobody asks for are left out") {
  const kernels::HeadSizes s{3, 4, 2, 5};
  const Spaced q(3, 2, 1), k(4, 2, 2), v(4, 5, 3), d_o(3, 5, 4);
  const Reals p = marked_weights(s, 1);
  const auto gradients = [&](bool to_q, bool to_k, bool to_v) {
    const Spaced start_q(3, 2, 6), start_k(4, 2, 5), start_v(4, 5, 7);
    std::vector<Spaced> d = {start_q, start_k, start_v};
    const auto asked = [&](bool needed, std::size_t i) {
      return needed ? d[i].mutable_rows() : kernels::MutableRows{nullptr, 0};
    };
    Reals ds(s.queries * s.row());
    attention_head::backward(s, q.rows(), k.rows(), v.rows(), factor, 0, nullptr, p.data(), 1, d_o.rows(), ds.data(),
                             {asked(to_q, 0), asked(to_k, 1), asked(to_v, 2), false});
    return d;
  };
  const std::vector<Spaced> all = gradients(true, true, true), none = gradients(false, false, false);
  for (const bool to_q : {false, true})
    for (const bool to_k : {false, true})
      for (const bool to_v : {false, true}) {
        const std::vector<Spaced> some = gradients(to_q, to_k, to_v);
        CHECK(some[0].same((to_q ? all : none)[0]));
        CHECK(some[1].same((to_k ? all : none)[1]));
        CHECK(some[2].same((to_v ? all : none)[2]));
      }
}

TEST_CASE("heads side by side have the bits of each alone") {
  const std::size_t longest = kernels::longest_short_head();
  struct Case {
    std::size_t heads, queries, keys, key_width, value_width;
  };
  for (const Case& c :
       {Case{64, 3, 6, 1, 1}, Case{8, 6, 6, 8, 8}, Case{4, 11, 11, 16, 16}, Case{3, 16, 5, 13, 20},
        Case{2, 4, longest, 32, 8}, Case{2, longest, longest, 32, 32}, Case{4, longest, longest, 16, 16},
        Case{2, 5, longest + 1, 3, 4}}) {  // and two that are not short
    const kernels::HeadSizes one{c.queries, c.keys, c.key_width, c.value_width};
    const kernels::HeadSizes all{c.queries, c.keys, c.key_width, c.value_width, c.heads};
    const Real cap = Real(0.9);
    CAPTURE(c.heads);
    const Spaced q(c.queries, c.heads * c.key_width, 1), k(c.keys, c.heads * c.key_width, 2),
        v(c.keys, c.heads * c.value_width, 3), d_o(c.queries, c.heads * c.value_width, 4);
    const std::size_t distances = c.queries + c.keys - 1;
    const Reals biases = draw(c.heads * distances, 5), unset(c.heads * one.scores() + 1, not_a_number);
    std::vector<std::size_t> visible;
    for (std::size_t h = 0; h < c.heads; ++h)
      for (const std::size_t count : staircase(one)) visible.push_back(count);
    for (const Real keep_scale : keep_scales) {
      struct Results {
        Spaced o, dq, dk, dv;
        Reals scores, weights, ds;
      };
      const auto compute = [&](Results& to, const kernels::HeadSizes& sizes, std::size_t first) {
        const auto of = [&](const Spaced& x, std::size_t width) {
          return kernels::Rows{x.rows().data + first * width, x.stride()};
        };
        const auto into = [&](Spaced& x, std::size_t width) {
          return kernels::MutableRows{x.mutable_rows().data + first * width, x.stride()};
        };
        Real* const p = to.weights.data() + first * one.scores();
        Real* const scores = to.scores.data() + first * one.scores();
        Real* const ds = to.ds.data() + first * one.scores();
        attention_head::weights(sizes, of(q, c.key_width), of(k, c.key_width), factor,
                                {biases.data() + first * distances, distances}, cap, visible.data(), true, scores, p);
        for (std::size_t i = 0; keep_scale != 1 && i < sizes.heads * one.scores(); ++i)
          if ((first * one.scores() + i) % 3 == 1) p[i] = -p[i];  // dropped
        attention_head::output(sizes, p, keep_scale, of(v, c.value_width), ds, into(to.o, c.value_width));
        attention_head::backward(
            sizes, of(q, c.key_width), of(k, c.key_width), of(v, c.value_width), factor, cap, scores, p, keep_scale,
            of(d_o, c.value_width), ds,
            {into(to.dq, c.key_width), into(to.dk, c.key_width), into(to.dv, c.value_width), false});
      };
      const Spaced by_key(c.keys, c.heads * c.key_width, 6), by_value(c.keys, c.heads * c.value_width, 7);
      const Spaced by_query(c.queries, c.heads * c.key_width, 8), output(c.queries, c.heads * c.value_width, 9);
      Results together{output, by_query, by_key, by_value, unset, unset, unset}, alone = together;
      compute(together, all, 0);
      for (std::size_t h = 0; h < c.heads; ++h) compute(alone, one, h);
      for (const auto member : {&Results::scores, &Results::weights, &Results::ds}) {
        const Reals &a = together.*member, &b = alone.*member;
        CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);  // what is unset is NaN
        CHECK(std::isnan(a.back()));
      }
      for (const auto member : {&Results::o, &Results::dq, &Results::dk, &Results::dv})
        CHECK((together.*member).same(alone.*member));
    }
  }
}

TEST_CASE("what a hidden key holds does not matter, NaN neither") {
  for (const std::size_t keys : {3, 7, 16}) {
    const kernels::HeadSizes s{5, keys, 4, 4};
    const Spaced q(5, 4, 1);
    Spaced k(keys, 4, 2);
    const std::vector<std::size_t> visible(5, keys - 1);
    const auto weights = [&] {
      Reals p(s.queries * s.row());
      attention_head::weights(s, q.rows(), k.rows(), factor, {nullptr, 0}, 0, visible.data(), true, nullptr, p.data());
      return p;
    };
    const Reals before = weights();
    for (const Real hidden : {not_a_number, test::infinity, -test::infinity}) {
      const kernels::MutableRows last{k.mutable_rows().data + (keys - 1) * k.stride(), k.stride()};
      std::fill_n(last.data, 4, hidden);
      CHECK(weights() == before);
    }
  }
}

TEST_CASE("what is longer or wider, or has no keys, is no short head") {
  const std::size_t longer = kernels::longest_short_head() + 1;
  CHECK_FALSE(kernels::are_short_heads({3, 0, 2, 2}));
  CHECK_FALSE(kernels::are_short_heads({longer, 3, 2, 2}));
  CHECK_FALSE(kernels::are_short_heads({3, longer, 2, 2}));
  CHECK_FALSE(kernels::are_short_heads({3, 3, 65, 2}));
  CHECK_FALSE(kernels::are_short_heads({3, 3, 2, 65}));
  CHECK(kernels::are_short_heads({3, 3, 2, 32, 2}));
  CHECK_FALSE(kernels::are_short_heads({3, 3, 2, 32, 3}));
  CHECK(kernels::heads_at_once({3, 3, 2, 65}) == 1);
  CHECK(kernels::heads_at_once({3, 3, 2, 0}) == 32);
  CHECK(kernels::heads_at_once({3, 3, 0, 0}) == 64);
}

}  // namespace
}  // namespace surd
