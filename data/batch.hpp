#pragma once

#include "data/sentence_pair.hpp"

#include <cstddef>
#include <vector>

namespace surd {

/// Sentence pairs side by side, as the model takes them. B = size, S = source_length, T = target_length; the matrices
/// are row-major, one row a pair, or several texts one behind the other. The decoder reads target_input and is to write
/// target_output: both have T positions, one more than the longest target has tokens, or as many as the longest row of
/// texts, each with its eos.
struct Batch {
  std::size_t size = 0;
  std::size_t source_length = 0;
  std::size_t target_length = 0;
  std::vector<TokenId> source;         ///< [B, S]: tokens, eos, then pad; S = 0 where pairs have no source
  std::vector<TokenId> target_input;   ///< [B, T]: bos, tokens (of each text), then pad
  std::vector<TokenId> target_output;  ///< [B, T]: tokens, eos (of each text), then pad
  /// [B, T]: place of each position in its text, where a row holds several texts; empty where it holds one.
  std::vector<std::int32_t> target_places;
  std::vector<std::size_t> source_lengths;  ///< [B]: positions before the padding
  std::vector<std::size_t> target_lengths;  ///< [B]
  std::vector<std::size_t> indices;         ///< [B]: where each row's (first) pair stands among those it was made from
  std::size_t first_row = 0;                ///< row of the whole batch that is the first one here; 0 for the whole

  /// Positions that are not padding: tokens and eos.
  std::size_t source_tokens() const;
  std::size_t target_tokens() const;

  /// These rows, in this order. S and T stay, so that the parts of a batch are padded alike. Throws Error where there
  /// is none, or one is not below size.
  Batch select(const std::vector<std::size_t>& rows) const;
  /// Rows [begin, end). Throws Error unless begin < end <= size.
  Batch slice(std::size_t begin, std::size_t end) const;
  /// Where so many slices of about as many tokens begin, and size behind them. None is empty. Throws Error unless 0 <
  /// count <= size.
  std::vector<std::size_t> even_cuts(std::size_t count) const;
};

/// The pairs at `indices`, in this order, padded to the longest of them. Throws Error when there is none, or an index
/// is out of range, or some of them have a source and some have none.
Batch make_batch(const std::vector<SentencePair>& pairs, const std::vector<std::size_t>& indices);

/// Rows of several texts each, every text with its bos and its eos, padded to the longest row. Throws Error as
/// make_batch(), and where a pair has a source or a row no text.
Batch make_packed_batch(const std::vector<SentencePair>& pairs, const std::vector<std::vector<std::size_t>>& rows);

/// Sorts indices of pairs by the length of the source, then of the target; those of one length stay in their order.
void sort_by_length(std::vector<std::size_t>::iterator first, std::vector<std::size_t>::iterator last,
                    const std::vector<SentencePair>& pairs);

/// How many pairs are measured or translated together by default.
inline constexpr std::size_t evaluation_batch_size = 64;
/// How many positions of the longer side, padding included, more than one pair may have together.
inline constexpr std::size_t evaluation_positions = 16'384;

/// All pairs in a fixed order, sorted by length so that little is padded, at most batch_size together: for evaluation.
/// The longest come first, whose memory then serves the others. A batch's `indices` lead back to the pairs. Throws
/// Error unless batch_size > 0.
std::vector<Batch> evaluation_batches(const std::vector<SentencePair>& pairs, std::size_t batch_size);

}  // namespace surd
