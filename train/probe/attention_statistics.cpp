#include "train/probe/attention_statistics.hpp"

#include "autograd/blas.hpp"
#include "autograd/kernels/elementwise.hpp"
#include "train/probe/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

/// Rows of [B, H, Tq, n]; of other shapes, one query each without heads.
struct Rows {
  explicit Rows(const Tensor& x)
      : with_heads(x.dimension() == 4),
        heads(with_heads ? x.shape()[1] : 1),
        queries(with_heads ? x.shape()[2] : 1),
        count(row_count(x)),
        width(row_length(x)) {}

  /// f(row, head) for each that counts.
  template <class F>
  void each(const PositionFilter& counts, F f) const {
    std::size_t row = 0;
    for (std::size_t b = 0; row < count; ++b)
      for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t t = 0; t < queries; ++t, ++row)
          if (!with_heads || counts(b, t)) f(row, h);
  }

  bool with_heads;
  std::size_t heads, queries, count, width;
};

/// Numbers that wait for their mean and quantiles.
struct Sample {
  std::vector<double> values;

  void add(const Sample& others) { values.insert(values.end(), others.values.begin(), others.values.end()); }
};

/// Sums over rows of weights.
struct Weights {
  Sample entropies;
  double saturated = 0, impurity = 0;

  void add(const Weights& others) {
    entropies.add(others.entropies);
    saturated += others.saturated;
    impurity += others.impurity;
  }
};

/// One T a head; one for all where there are no heads.
template <class T>
class Groups {
 public:
  Groups(bool with_heads, std::size_t heads) : with_heads_(with_heads), groups_(heads) {}

  T& operator[](std::size_t head) { return groups_[head]; }

  /// write_one(name, group) for the whole layer, and then for each head.
  template <class Write>
  void write(const std::string& what, const Write& write_one) const {
    T layer;
    for (const T& group : groups_) layer.add(group);
    write_one(what, layer);
    for (std::size_t h = 0; with_heads_ && h < groups_.size(); ++h)
      write_one(fmt::format("{}.head{}", what, h), groups_[h]);
  }

 private:
  bool with_heads_;
  std::vector<T> groups_;
};

void report_norms(const std::string& what, const Groups<Sample>& norms, const StatisticSink& report) {
  norms.write(what, [&](const std::string& name, const Sample& group) {
    report(name, "mean", mean(group.values));
    const std::vector<double> found = quantiles(group.values, {0.5, 0.95});
    report(name, "median", found[0]);
    report(name, "p95", found[1]);
  });
}

/// x W^T: [..., d], [out, d] -> [rows, out]
Tensor project(const Tensor& x, const Tensor& weight) {
  Tensor y(Shape{row_count(x), weight.shape()[0]});
  blas::gemm(blas::Transpose::no, blas::Transpose::yes, row_count(x), weight.shape()[0], row_length(x), 1, x.data(),
             weight.data(), 0, y.data());
  return y;
}

}  // namespace

AttentionShape attention_shape(const Tensor& scores) {
  const Rows rows(scores);
  AttentionShape shape{rows.heads, rows.queries, std::vector<std::size_t>(rows.count)};
  for (std::size_t r = 0; r < rows.count; ++r) {
    const Real* row = scores.data() + r * rows.width;
    shape.visible[r] =
        static_cast<std::size_t>(std::count_if(row, row + rows.width, [](Real score) { return !std::isnan(score); }));
  }
  return shape;
}

void report_scores(const Tensor& scores, const PositionFilter& counts, const StatisticSink& report) {
  const Rows rows(scores);
  Groups<Moments> groups(rows.with_heads, rows.heads);
  rows.each(counts, [&](std::size_t r, std::size_t head) {
    const Real* row = scores.data() + r * rows.width;
    Moments moments;  // in registers
    for (std::size_t i = 0; i < rows.width; ++i)
      if (!std::isnan(row[i])) moments.add(static_cast<double>(row[i]));
    groups[head].add(moments);
  });
  groups.write("scores", [&](const std::string& name, const Moments& moments) {
    report(name, "std", moments.std());
    report(name, "max", moments.count == 0 ? 0 : moments.max);
  });
}

void report_weights(const Tensor& weights, const AttentionShape& shape, const PositionFilter& counts,
                    const StatisticSink& report) {
  const Rows rows(weights);
  Groups<Weights> groups(rows.with_heads, rows.heads);
  Tensor logs(weights.shape());
  kernels::log(weights.data(), logs.data(), weights.size());
  rows.each(counts, [&](std::size_t r, std::size_t head) {
    double entropy = 0, squares = 0, max = 0;
    std::size_t with_weight = 0;
    for (std::size_t i = r * rows.width; i < (r + 1) * rows.width; ++i) {
      const auto weight = static_cast<double>(weights.data()[i]);
      if (weight <= 0) continue;
      entropy -= weight * static_cast<double>(logs.data()[i]);
      squares += weight * weight;
      max = std::max(max, weight);
      ++with_weight;
    }
    // A weight may underflow to zero, so that only the scores tell which keys are hidden.
    const std::size_t visible = shape.visible.size() == rows.count ? shape.visible[r] : with_weight;
    if (visible < 2) return;
    Weights& sums = groups[head];
    sums.entropies.values.push_back(entropy / std::log(static_cast<double>(visible)));
    sums.saturated += max > 0.99 ? 1 : 0;
    sums.impurity += 1 - squares;
  });
  groups.write("weights", [&](const std::string& name, const Weights& sums) {
    const double n = std::max(1.0, static_cast<double>(sums.entropies.values.size()));
    report(name, "entropy", mean(sums.entropies.values));
    report(name, "entropy_p10", quantile(sums.entropies.values, 0.1));
    report(name, "saturated", sums.saturated / n);
    report(name, "gini_impurity", sums.impurity / n);
  });
}

void report_scores_gradient(const Tensor& gradient, const AttentionShape& shape, const PositionFilter& counts,
                            const StatisticSink& report) {
  const Rows rows(gradient);
  if (shape.visible.size() != rows.count) return;
  Groups<Sample> norms(rows.with_heads, rows.heads);
  rows.each(counts, [&](std::size_t r, std::size_t head) {
    if (shape.visible[r] >= 2) norms[head].values.push_back(norm(gradient.data() + r * rows.width, rows.width));
  });
  report_norms("scores_gradient", norms, report);
}

void report_query_gradient(const Tensor& gradient, const AttentionShape& shape, const PositionFilter& counts,
                           const StatisticSink& report) {
  const std::size_t places = row_count(gradient);
  if (gradient.dimension() != 3 || gradient.shape()[1] != shape.queries || shape.heads == 0 ||
      shape.visible.size() != places * shape.heads)
    return;
  const std::size_t width = row_length(gradient) / shape.heads;
  Groups<Sample> norms(true, shape.heads);
  for (std::size_t b = 0, place = 0; place < places; ++b)
    for (std::size_t t = 0; t < shape.queries; ++t, ++place) {
      if (!counts(b, t)) continue;
      for (std::size_t h = 0; h < shape.heads; ++h) {
        if (shape.visible[(b * shape.heads + h) * shape.queries + t] < 2) continue;
        norms[h].values.push_back(norm(gradient.data() + (place * shape.heads + h) * width, width));
      }
    }
  report_norms("query_gradient", norms, report);
}

void report_score_parts(const ScorePartsInput& input, const PositionFilter& counts, const StatisticSink& report) {
  const std::size_t batch = input.tokens.shape()[0], length = input.tokens.shape()[1];
  const std::size_t q_row = input.query.shape()[0], k_row = input.key.shape()[0], width = q_row / input.heads;
  const std::size_t shared_by = q_row / k_row;
  struct Part {
    const char* name;
    Tensor q, k;
    std::size_t q_stride, k_stride;  // from one row of the batch to the next; positions are the same in all
  };
  Part token{"token", project(input.tokens, input.query), project(input.tokens, input.key), length * q_row,
             length * k_row};
  Part position{"position", project(input.positions, input.query), project(input.positions, input.key), 0, 0};
  std::vector<std::vector<std::size_t>> counted(batch);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t t = 0; t < length; ++t)
      if (counts(b, t)) counted[b].push_back(t);
  Tensor scores(Shape{length, length});
  for (const Part* of_query : {&token, &position})
    for (const Part* of_key : {&token, &position}) {
      Moments moments;
      const bool same_in_all = of_query->q_stride + of_key->k_stride == 0;
      for (std::size_t h = 0; h < input.heads; ++h)
        for (std::size_t b = 0; b < batch; ++b) {
          if (b == 0 || !same_in_all)
            blas::gemm(blas::Transpose::no, blas::Transpose::yes, length, length, width,
                       static_cast<Real>(input.factor), of_query->q.data() + b * of_query->q_stride + h * width, q_row,
                       of_key->k.data() + b * of_key->k_stride + h / shared_by * width, k_row, 0, scores.data(),
                       length);
          for (const std::size_t t : counted[b])
            for (const std::size_t j : counted[b]) moments.add(static_cast<double>(scores.data()[t * length + j]));
        }
      report(fmt::format("scores.{}.{}", of_query->name, of_key->name), "std", moments.std());
    }
}

}  // namespace surd
