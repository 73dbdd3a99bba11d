#include "autograd/kernels/elementwise.hpp"
#include "train/probe/quantities.hpp"
#include "train/probe/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>

namespace surd {
namespace {

/// The path of an embedding's records. Where one matrix serves both sides, the module's path does not tell them apart.
std::string embedding_path(const Event& tokens) {
  switch (tokens.side) {
    case ModelSide::source: return "source_embedding";
    case ModelSide::target:
    case ModelSide::joined: return "target_embedding";
    case ModelSide::none: break;
  }
  return tokens.path;
}

struct PositionSizes {
  double rms = 0, centred_rms = 0;
};

/// Of positions where `counts`, of a table [T, d] that all rows of a batch share or of [B, T, d]; centred, less the
/// mean over each sequence, of which one begins where `begins`.
PositionSizes sizes_of(const Tensor& table, std::size_t batch, const PositionFilter& counts,
                       const PositionFilter& begins) {
  const std::size_t length = table.shape()[table.dimension() - 2], d = row_length(table);
  const std::size_t stride = table.dimension() == 3 ? length * d : 0;  // from a row of the batch to the next one
  double total = 0, centred = 0, count = 0;
  std::vector<double> sum(d);
  double of_sequence = 0, places = 0;
  const auto end_sequence = [&] {
    double of_mean = 0;
    for (const double column : sum) of_mean += column * column / std::max(1.0, places);
    total += of_sequence;
    // Of sequences of one position nothing is left but rounding.
    if (places > 1) centred += std::max(0.0, of_sequence - of_mean);
    count += places * static_cast<double>(d);
    std::fill(sum.begin(), sum.end(), 0);
    of_sequence = places = 0;
  };
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t t = 0; t < length; ++t) {
      if (begins(b, t)) end_sequence();
      if (!counts(b, t)) continue;
      const Real* row = table.data() + b * stride + t * d;
      of_sequence += squares(row, d);
      for (std::size_t j = 0; j < d; ++j) sum[j] += static_cast<double>(row[j]);
      ++places;
    }
  end_sequence();
  if (count == 0) return {};
  return {std::sqrt(total / count), std::sqrt(centred / count)};
}

/// Sums over the logits of all rows, which come a tile at a time.
struct LogitSums {
  std::string path;
  std::vector<TokenId> own_inputs;  // of the target positions that have logits, in their order
  std::size_t rows = 0;
  Moments logits;
  double log_partitions = 0, own = 0;
  std::vector<Real> exps;  // of the logits of a row, less the largest

  void add_row(const Real* row, std::size_t n) {
    const Real largest = *std::max_element(row, row + n);
    exps.resize(n);
    for (std::size_t v = 0; v < n; ++v) {
      logits.add(static_cast<double>(row[v]));
      exps[v] = row[v] - largest;
    }
    kernels::exp(exps.data(), exps.data(), n);
    log_partitions += static_cast<double>(largest) + std::log(std::accumulate(exps.begin(), exps.end(), 0.0));
    if (rows < own_inputs.size()) {
      const auto own_input = static_cast<std::size_t>(own_inputs[rows]);
      if (own_input < n) own += static_cast<double>(row[own_input]);
    }
    ++rows;
  }
};

}  // namespace

void watch_embeddings(ProbedUpdate& update) {
  auto& table = update.keep<std::optional<Tensor>>();  // positions of the sum whose tokens come next
  update.on("positions", [&](const Event& positions) { table = positions.tensor; });
  update.on("tokens", [&](const Event& tokens) {
    const auto record = [&](const char* statistic, double number) {
      update.record(embedding_path(tokens), "embedding", statistic, number);
    };
    const double token_rms = update.rms_of_positions(tokens);
    record("token_rms", token_rms);
    if (!table) return;
    const PositionSizes positions =
        sizes_of(*table, tokens.tensor.shape()[0], update.positions(tokens), update.begins(tokens));
    table.reset();
    record("position_rms", positions.rms);
    record("centred_position_rms", positions.centred_rms);
    if (positions.rms > 0) record("rho", token_rms / positions.rms);
    if (positions.centred_rms > 0) record("rho_centred", token_rms / positions.centred_rms);
  });
}

void watch_residuals(ProbedUpdate& update) {
  struct Parts {
    double skip = 0, branch = 0;
  };
  auto& parts = update.keep<std::map<std::string, Parts>>();  // by path; rms of each
  update.on("skip", [&](const Event& skip) { parts[skip.path].skip = update.rms_of_positions(skip); });
  update.on("branch", [&](const Event& branch) { parts[branch.path].branch = update.rms_of_positions(branch); });
  update.on("sum", [&](const Event& sum) {
    const auto [skip, branch] = parts[sum.path];
    update.record(sum.path, "residual", "rms", update.rms_of_positions(sum));
    update.record(sum.path, "residual", "skip_rms", skip);
    update.record(sum.path, "residual", "branch_rms", branch);
    if (skip > 0) update.record(sum.path, "residual", "branch_to_skip", branch / skip);
  });
}

void watch_logits(ProbedUpdate& update) {
  auto& sums = update.keep<LogitSums>();
  update.on_batch([&](std::size_t index, const Batch& batch) {
    if (index > 0) return;  // the pass over the first is watched
    for (std::size_t b = 0; b < batch.size; ++b)
      for (std::size_t t = 0; t < batch.target_lengths[b]; ++t)
        sums.own_inputs.push_back(batch.target_input[b * batch.target_length + t]);
  });
  update.on("logits", [&](const Event& tile) {
    sums.path = tile.path;
    const std::size_t n = row_length(tile.tensor);
    for (std::size_t r = 0; r < row_count(tile.tensor); ++r) sums.add_row(tile.tensor.data() + r * n, n);
  });
  update.before_step([&](const ParameterSet&) {
    if (sums.rows == 0) return;
    const auto record = [&](const char* statistic, double number) {
      update.record(sums.path, "logits", statistic, number);
    };
    const auto rows = static_cast<double>(sums.rows);
    record("std", sums.logits.std());
    record("max", sums.logits.max);
    record("log_partition", sums.log_partitions / rows);
    if (sums.rows <= sums.own_inputs.size()) record("own_input", sums.own / rows);
  });
}

}  // namespace surd
