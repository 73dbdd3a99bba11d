#pragma once

#include "autograd/base/fields.hpp"
#include "data/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace surd {

/// Whether source and target are two matrices, or one sequence, the target behind the source.
enum class Sides { two, joined };

/// How a split is cut into batches. Exactly one of the two sizes must be given.
struct BatcherOptions {
  std::optional<std::size_t> batch_size;    ///< sentence pairs
  std::optional<std::size_t> batch_tokens;  ///< rows times the longer padded side: max(S, T), as fairseq's max-tokens
  bool bucketing = true;
  std::optional<std::size_t> bucketing_window;
  std::optional<std::size_t> packed_length = {};  ///< positions of a row of several texts; needs batch_tokens

  void fields(Fields& f);
};

/// Cuts a split into batches, in another order each epoch. Epoch e is a pure function of (pairs, options, seed, e), so
/// that a resumed run needs to know no more than the epoch and the index of its next batch. Every pair is in exactly
/// one batch of an epoch.
///
/// With bucketing, pairs of similar length meet: the pairs are shuffled, sorted by length (in windows, where a window
/// size is given), cut, and the batches are shuffled. Without, the shuffled pairs are cut as they come. Packed, each of
/// the shuffled texts goes into the first of the open rows that has room for it.
///
/// Remembers the plan of the epoch it was asked about last; so it is to be used by one thread at a time.
class Batcher {
 public:
  /// The pairs must outlive the batcher. Throws Error when there are no pairs, when not exactly one of the sizes is
  /// given, when a pair alone has more positions than batch_tokens or than a packed row, or where pairs are to be
  /// packed that have a source.
  Batcher(const std::vector<SentencePair>& pairs, const BatcherOptions& options, std::uint64_t seed,
          Sides sides = Sides::two);
  Batcher(const std::vector<SentencePair>&& pairs, const BatcherOptions& options, std::uint64_t seed,
          Sides sides = Sides::two) = delete;

  std::size_t batches_per_epoch(std::size_t epoch);

  /// Throws Error unless index < batches_per_epoch(epoch).
  Batch batch(std::size_t epoch, std::size_t index);

  /// Share of the positions of the epoch's source and target matrices that hold padding, in [0, 1).
  double padding_share(std::size_t epoch);

 private:
  using Row = std::vector<std::size_t>;                // indices of the texts of a packed row
  using Plan = std::vector<std::vector<std::size_t>>;  // a batch is a list of indices of pairs, or of packed rows

  const Plan& plan(std::size_t epoch);
  std::vector<std::size_t> order(std::size_t epoch) const;
  Plan cut(const std::vector<std::size_t>& order) const;
  Plan pack(const std::vector<std::size_t>& order);

  const std::vector<SentencePair>* pairs_;
  BatcherOptions options_;
  std::uint64_t seed_;
  Sides sides_;
  std::optional<std::size_t> planned_epoch_;
  Plan plan_;
  std::vector<Row> packed_rows_;  // of that epoch, if rows are packed
};

}  // namespace surd
