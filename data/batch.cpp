#include "data/batch.hpp"

#include "autograd/base/error.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace surd {
namespace {

/// Rows of a row-major matrix, or elements of a vector where width = 1.
template <class T>
std::vector<T> rows_of(const std::vector<T>& matrix, std::size_t width, const std::vector<std::size_t>& rows) {
  std::vector<T> selected;
  selected.reserve(rows.size() * width);
  for (const std::size_t row : rows) {
    const auto begin = matrix.begin() + static_cast<std::ptrdiff_t>(row * width);
    selected.insert(selected.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  return selected;
}

std::size_t sum(const std::vector<std::size_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::size_t{0});
}

/// Writes a target to positions `begin` and after, and returns where it ends.
std::size_t put_target(Batch& batch, std::size_t begin, const std::vector<TokenId>& target) {
  batch.target_input[begin] = Vocabulary::bos;
  std::copy(target.begin(), target.end(), batch.target_input.data() + begin + 1);
  std::copy(target.begin(), target.end(), batch.target_output.data() + begin);
  batch.target_output[begin + target.size()] = Vocabulary::eos;
  return begin + target.size() + 1;
}

}  // namespace

std::size_t Batch::source_tokens() const { return sum(source_lengths); }

std::size_t Batch::target_tokens() const { return sum(target_lengths); }

Batch Batch::select(const std::vector<std::size_t>& rows) const {
  expect(!rows.empty(), "batch", "a part of a batch must have a row; got none");
  for (const std::size_t row : rows) expect(row < size, "batch", "a row must be less than {}; got {}", size, row);
  Batch part;
  part.size = rows.size();
  part.source_length = source_length;
  part.target_length = target_length;
  part.source = rows_of(source, source_length, rows);
  part.target_input = rows_of(target_input, target_length, rows);
  part.target_output = rows_of(target_output, target_length, rows);
  if (!target_places.empty()) part.target_places = rows_of(target_places, target_length, rows);
  part.source_lengths = rows_of(source_lengths, 1, rows);
  part.target_lengths = rows_of(target_lengths, 1, rows);
  part.indices = rows_of(indices, 1, rows);
  part.first_row = first_row + rows.front();
  return part;
}

Batch Batch::slice(std::size_t begin, std::size_t end) const {
  expect(begin < end && end <= size, "batch", "a slice must be a part of its {} rows and not empty; got [{}, {})", size,
         begin, end);
  std::vector<std::size_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), begin);
  return select(rows);
}

std::vector<std::size_t> Batch::even_cuts(std::size_t count) const {
  expect(count > 0 && count <= size, "batch", "{} rows cannot be cut into {} slices", size, count);
  const std::size_t tokens = source_tokens() + target_tokens();
  std::vector<std::size_t> cuts = {0};
  std::size_t row = 0, before = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t last = size - (count - i);  // leaves a row to each of the others
    // A row is on the side of the cut where its middle is.
    do {
      before += source_lengths[row] + target_lengths[row];
      ++row;
    } while (row < last && count * (2 * before + source_lengths[row] + target_lengths[row]) <= 2 * i * tokens);
    cuts.push_back(row);
  }
  cuts.push_back(size);
  return cuts;
}

Batch make_batch(const std::vector<SentencePair>& pairs, const std::vector<std::size_t>& indices) {
  expect(!indices.empty(), "batch", "a batch must have a pair; got none");
  Batch batch;
  batch.size = indices.size();
  batch.indices = indices;
  for (const std::size_t index : indices) {
    expect(index < pairs.size(), "batch", "an index must be less than {}, the number of pairs; got {}", pairs.size(),
           index);
    expect(pairs[index].source.empty() == pairs[indices.front()].source.empty(), "batch",
           "all pairs must have a source or none; pair {} differs from pair {}", index, indices.front());
    batch.source_lengths.push_back(pairs[index].source.size());
    batch.target_lengths.push_back(pairs[index].target.size() + 1);
  }
  batch.source_length = *std::max_element(batch.source_lengths.begin(), batch.source_lengths.end());
  batch.target_length = *std::max_element(batch.target_lengths.begin(), batch.target_lengths.end());

  batch.source.assign(batch.size * batch.source_length, Vocabulary::pad);
  batch.target_input.assign(batch.size * batch.target_length, Vocabulary::pad);
  batch.target_output = batch.target_input;
  for (std::size_t row = 0; row < batch.size; ++row) {
    const SentencePair& pair = pairs[indices[row]];
    std::copy(pair.source.begin(), pair.source.end(), batch.source.data() + row * batch.source_length);
    put_target(batch, row * batch.target_length, pair.target);
  }
  return batch;
}

Batch make_packed_batch(const std::vector<SentencePair>& pairs, const std::vector<std::vector<std::size_t>>& rows) {
  expect(!rows.empty(), "batch", "a batch must have a row; got none");
  Batch batch;
  batch.size = rows.size();
  for (const std::vector<std::size_t>& row : rows) {
    expect(!row.empty(), "batch", "a row must hold a text; got none");
    std::size_t length = 0;
    for (const std::size_t index : row) {
      expect(index < pairs.size(), "batch", "an index must be less than {}, the number of pairs; got {}", pairs.size(),
             index);
      expect(pairs[index].source.empty(), "batch", "texts of one row have no source; pair {} has one", index);
      length += pairs[index].target.size() + 1;
    }
    batch.target_lengths.push_back(length);
    batch.indices.push_back(row.front());
  }
  batch.source_lengths.assign(batch.size, 0);
  batch.target_length = *std::max_element(batch.target_lengths.begin(), batch.target_lengths.end());
  batch.target_input.assign(batch.size * batch.target_length, Vocabulary::pad);
  batch.target_output = batch.target_input;
  batch.target_places.assign(batch.target_input.size(), 0);  // each padding position is a text of its own
  for (std::size_t row = 0; row < batch.size; ++row) {
    std::size_t begin = row * batch.target_length;
    for (const std::size_t index : rows[row]) {
      const std::size_t end = put_target(batch, begin, pairs[index].target);
      std::iota(batch.target_places.data() + begin, batch.target_places.data() + end, 0);
      begin = end;
    }
  }
  return batch;
}

void sort_by_length(std::vector<std::size_t>::iterator first, std::vector<std::size_t>::iterator last,
                    const std::vector<SentencePair>& pairs) {
  struct Entry {  // lengths beside the index: pairs would be read from all over the memory at each comparison
    std::size_t source, target, index;
  };
  std::vector<Entry> entries;
  entries.reserve(static_cast<std::size_t>(last - first));
  std::transform(first, last, std::back_inserter(entries), [&](std::size_t index) {
    return Entry{pairs[index].source.size(), pairs[index].target.size(), index};
  });
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.source != b.source ? a.source < b.source : a.target < b.target;
  });
  std::transform(entries.begin(), entries.end(), first, [](const Entry& entry) { return entry.index; });
}

std::vector<Batch> evaluation_batches(const std::vector<SentencePair>& pairs, std::size_t batch_size) {
  expect(batch_size > 0, "batch", "the batch size must be at least 1; got 0");
  std::vector<std::size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  sort_by_length(order.begin(), order.end(), pairs);
  std::vector<Batch> batches;
  for (auto begin = order.begin(); begin != order.end();) {
    auto end = begin;
    std::size_t longest = 0;
    for (std::size_t rows = 1; end != order.end() && rows <= batch_size; ++end, ++rows) {
      longest = std::max({longest, pairs[*end].source.size(), pairs[*end].target.size()});
      if (rows > 1 && rows * longest > evaluation_positions) break;
    }
    batches.push_back(make_batch(pairs, {begin, end}));
    begin = end;
  }
  std::reverse(batches.begin(), batches.end());
  return batches;
}

}  // namespace surd
