#include "experiments/commands/bench/bench_products.hpp"

#include "autograd/blas.hpp"
#include "autograd/kernels/attention.hpp"
#include "autograd/ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace surd {
namespace {

using blas::library_gemm;

constexpr auto no = blas::Transpose::no;
constexpr auto yes = blas::Transpose::yes;

/// What makes two products the same kind.
auto kind(const StepProduct& p) { return std::tie(p.a, p.b, p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.of_short_head); }

}  // namespace

StepProducts::StepProducts(const BenchShape& shape) {
  const std::size_t d = shape.d_model, f = shape.feed_forward_width, layers = shape.layers;
  const std::size_t source = shape.batch_size * shape.source_length, target = shape.batch_size * shape.target_length;
  if (shape.source_length == 0) {
    projections = {{target, d, d, 4 * layers}, {target, d, f, layers}, {target, f, d, layers}};
    attentions = {{shape.target_length, shape.target_length, layers}};
  } else {
    projections = {{source, d, d, 4 * layers},  // self-attention of the encoder: q, k, v and output
                   {source, d, f, layers},     {source, f, d, layers},
                   {target, d, d, 6 * layers},  // self-attention of the decoder; q and output of its cross-attention
                   {source, d, d, 2 * layers},  // keys and values of the cross-attention
                   {target, d, f, layers},     {target, f, d, layers}};
    attentions = {{shape.source_length, shape.source_length, layers},
                  {shape.target_length, shape.target_length, layers},
                  {shape.target_length, shape.source_length, layers}};
  }
  const std::size_t rows = std::min(target, logit_rows_at_once);
  projections.push_back({rows, d, shape.vocabulary, target / rows});
  if (target % rows > 0) projections.push_back({target % rows, d, shape.vocabulary, 1});
}

char transpose_letter(blas::Transpose transpose) { return transpose == no ? 'N' : 'T'; }

std::string StepProduct::computed_by() const {
  return of_short_head ? "head kernel" : blas::by_kernel(a, b, m, n, k) ? "kernel" : "library";
}

std::string StepProduct::name() const {
  return fmt::format("{}{} {} x {} x {}", transpose_letter(a), transpose_letter(b), m, n, k);
}

std::vector<StepProduct> products_of(const BenchShape& shape) {
  const StepProducts sizes(shape);
  std::vector<StepProduct> products;
  const auto add = [&](const StepProduct& product) {
    const auto same = std::find_if(products.begin(), products.end(),
                                   [&](const StepProduct& other) { return kind(other) == kind(product); });
    if (same == products.end())
      products.push_back(product);
    else
      same->count += product.count;
  };
  for (const auto& [rows, in, out, count] : sizes.projections) {
    add({no, yes, rows, out, in, in, in, out, count});
    add({yes, no, out, in, rows, out, in, in, count});
    add({no, no, rows, in, out, out, in, in, count});
  }
  const std::size_t d = shape.d_model, head = d / shape.heads;
  for (const auto& [queries, keys, modules] : sizes.attentions) {
    const std::size_t row = kernels::row_of_scores(keys), count = 2 * modules * shape.batch_size * shape.heads;
    const bool is_short = kernels::are_short_heads({queries, keys, head, head});
    add({no, yes, queries, keys, head, d, d, row, count, is_short});  // Q K^T, dO V^T
    add({no, no, queries, head, keys, row, d, d, count, is_short});   // P V, dS K
    add({yes, no, keys, head, queries, row, d, d, count, is_short});  // P^T dO, dS^T Q
  }
  return products;
}

LibraryProducts::LibraryProducts(const BenchShape& shape) : shape_(shape), products_(shape) {
  std::size_t x = 0, y = 0, weight = 0;
  for (const StepProducts::Projection& p : products_.projections) {
    x = std::max(x, p.rows * p.in);
    y = std::max(y, p.rows * p.out);
    weight = std::max(weight, p.in * p.out);
    operations_ += 6.0 * static_cast<double>(p.rows * p.in * p.out * p.count);
  }
  for (const StepProducts::Attention& a : products_.attentions)
    operations_ += 12.0 * static_cast<double>(shape.batch_size * a.queries * a.keys * shape.d_model * a.count);
  const std::size_t length = std::max(shape.source_length, shape.target_length);
  const std::size_t positions = shape.batch_size * length * shape.d_model;
  const auto some = [](std::size_t count) { return full({count}, Real(0.01)); };
  x_ = some(x), dx_ = some(x), y_ = some(y), weight_ = some(weight), dweight_ = some(weight);
  q_ = some(positions), k_ = some(positions), v_ = some(positions), o_ = some(positions), dq_ = some(positions);
  dk_ = some(positions);
  scores_ = some(shape.batch_size * shape.heads * length * length);
}

void LibraryProducts::run(const StepProducts::Projection& p) {
  library_gemm(no, yes, p.rows, p.out, p.in, 1, x_.data(), p.in, weight_.data(), p.in, 0, y_.data(), p.out);
  library_gemm(yes, no, p.out, p.in, p.rows, 1, y_.data(), p.out, x_.data(), p.in, 0, dweight_.data(), p.in);
  library_gemm(no, no, p.rows, p.in, p.out, 1, y_.data(), p.out, weight_.data(), p.in, 0, dx_.data(), p.in);
}

void LibraryProducts::run(const StepProducts::Attention& a) {
  const std::size_t d = shape_.d_model, width = d / shape_.heads;
  for (const bool backward : {false, true}) {
    for (std::size_t b = 0; b < shape_.batch_size; ++b) {
      for (std::size_t h = 0; h < shape_.heads; ++h) {
        const std::size_t query = b * a.queries * d + h * width, key = b * a.keys * d + h * width;
        Real* scores = scores_.data() + (b * shape_.heads + h) * a.queries * a.keys;
        if (!backward) {
          library_gemm(no, yes, a.queries, a.keys, width, 1, q_.data() + query, d, k_.data() + key, d, 0, scores,
                       a.keys);
          library_gemm(no, no, a.queries, width, a.keys, 1, scores, a.keys, v_.data() + key, d, 0, o_.data() + query,
                       d);
          continue;
        }
        library_gemm(yes, no, a.keys, width, a.queries, 1, scores, a.keys, o_.data() + query, d, 0, dk_.data() + key,
                     d);
        library_gemm(no, yes, a.queries, a.keys, width, 1, o_.data() + query, d, v_.data() + key, d, 0, scores, a.keys);
        library_gemm(no, no, a.queries, width, a.keys, 1, scores, a.keys, k_.data() + key, d, 0, dq_.data() + query, d);
        library_gemm(yes, no, a.keys, width, a.queries, 1, scores, a.keys, q_.data() + query, d, 0, dk_.data() + key,
                     d);
      }
    }
  }
}

void LibraryProducts::run() {
  for (const StepProducts::Projection& projection : products_.projections)
    for (std::size_t i = 0; i < projection.count; ++i) run(projection);
  for (const StepProducts::Attention& attention : products_.attentions)
    for (std::size_t i = 0; i < attention.count; ++i) run(attention);
}

}  // namespace surd
