#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// Statistics of attention, over the rows (a query in a head) that count: those of queries that are no padding.
namespace surd {

/// What a layer's scores say about its other quantities.
struct AttentionShape {
  std::size_t heads = 0, queries = 0;
  std::vector<std::size_t> visible;  ///< keys that are not hidden, a row of [B, H, Tq]
};

/// Whether position t of batch row b, of attention that of the query, is to be counted.
using PositionFilter = std::function<bool(std::size_t b, std::size_t t)>;
/// Takes ("scores", "std", 1.02) of the whole layer or ("scores.head0", "std", 1.02) of one head.
using StatisticSink = std::function<void(const std::string& what, const char* statistic, double number)>;

/// Of [B, H, Tq, Tk], in which hidden keys are NaN; other shapes count as one row a last axis, without heads.
AttentionShape attention_shape(const Tensor& scores);

/// "std" and "max" of the scores of visible keys.
void report_scores(const Tensor& scores, const PositionFilter& counts, const StatisticSink& report);

/// Of each row p of weights, of which rows that see one key are left out: "entropy" and "entropy_p10", the mean and the
/// 10th percentile of -sum p ln p / ln(visible keys); "saturated", the share with max p > 0.99; "gini_impurity", the
/// mean of 1 - sum p^2. `shape` may be empty: then the keys with any weight are the visible ones.
void report_weights(const Tensor& weights, const AttentionShape& shape, const PositionFilter& counts,
                    const StatisticSink& report);

/// "mean", "median" and "p95" of the norm of each row of a gradient [B, H, Tq, Tk] of scores; rows that see one key are
/// left out.
void report_scores_gradient(const Tensor& gradient, const AttentionShape& shape, const PositionFilter& counts,
                            const StatisticSink& report);
/// The same of a gradient [B, Tq, H d_k] of queries, of each query in each head.
void report_query_gradient(const Tensor& gradient, const AttentionShape& shape, const PositionFilter& counts,
                           const StatisticSink& report);

/// What the scores of a layer are made of, where its input is a sum of tokens and positions.
struct ScorePartsInput {
  const Tensor& tokens;     ///< [B, T, d]
  const Tensor& positions;  ///< [T, d]
  const Tensor& query;      ///< W_q [H d_k, d]
  const Tensor& key;        ///< W_k [G d_k, d], each of its heads shared by H / G heads of queries
  std::size_t heads;        ///< H
  double factor;            ///< on the scores
};
/// "std" of the four parts factor (W_q x) (W_k y) of "scores.token.token", "scores.token.position" (the query's part
/// first), "scores.position.token" and "scores.position.position", over pairs in which `counts` holds for both.
void report_score_parts(const ScorePartsInput& input, const PositionFilter& counts, const StatisticSink& report);

}  // namespace surd
