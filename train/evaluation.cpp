#include "train/evaluation.hpp"

#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"
#include "data/batch.hpp"
#include "train/batch_loss.hpp"
#include "train/decoding.hpp"
#include "train/metrics/chrf.hpp"

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

/// Calls f(index of the pair, place in its target, true token, row of log-probabilities) for every target token. Only
/// a tile of the rows has its logits at a time, and padding never does.
template <class F>
void for_each_target(const Transformer& model, const std::vector<SentencePair>& pairs, std::size_t batch_size, F f) {
  const TapeArguments inference = TapeArguments::inference();
  Tape tape(inference), tile_tape(inference);
  for (const Batch& batch : evaluation_batches(pairs, batch_size)) {
    tape.reset(inference);
    const auto [states, targets] = batch_hidden(model, tape, batch);
    const Tensor& hidden = states.value();
    std::vector<std::size_t> real;  // rows that are no padding
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (targets[i] != Vocabulary::pad) real.push_back(i);
    expect(real.size() == batch.target_tokens(), "evaluate", "a target holds padding");
    const std::size_t width = row_length(hidden);
    std::size_t b = 0, t = 0;
    for (std::size_t begin = 0; begin < real.size(); begin += logit_rows_at_once) {
      const std::size_t count = std::min(logit_rows_at_once, real.size() - begin);
      Tensor tile(Shape{count, width});
      for (std::size_t i = 0; i < count; ++i)
        std::copy_n(hidden.data() + real[begin + i] * width, width, tile.data() + i * width);
      tile_tape.reset(inference);
      Tensor rows = model.logits(tile_tape.input(std::move(tile))).value();
      const std::size_t vocabulary = row_length(rows);
      for (std::size_t i = 0; i < count; ++i) {
        Real* row = rows.data() + i * vocabulary;
        kernels::log_softmax_row(row, row, vocabulary);
        f(batch.indices[b], t, targets[real[begin + i]], row, vocabulary);
        if (++t == batch.target_lengths[b]) ++b, t = 0;
      }
    }
  }
}

/// How many tokens surd translate writes, if nobody says otherwise.
std::size_t written_at_most(const std::vector<TokenId>& source) {
  return length_limit(usual_max_length_factor, source.size());
}

/// Translations of the pairs, in their order.
std::vector<Translation> translate(const Transformer& model, const std::vector<SentencePair>& pairs,
                                   const TextCodec& codec, const EvaluationArguments& arguments) {
  std::vector<Translation> translations(pairs.size());
  for (const Batch& batch : evaluation_batches(pairs, arguments.batch_size)) {
    std::vector<std::vector<TokenId>> sources;
    DecodingArguments options = arguments.search;
    for (const std::size_t index : batch.indices) {
      const std::vector<TokenId>& source = pairs[index].source;
      sources.push_back(source);
      // With its eos. A longer translation is wrong anyway, but BLEU looks at all that surd translate would write.
      const std::size_t longest_right = codec.most_tokens(pairs[index]) + 1;
      options.max_lengths.push_back(arguments.bleu ? std::max(longest_right, written_at_most(source)) : longest_right);
    }
    auto of_batch = decode(model, sources, options);
    for (std::size_t i = 0; i < of_batch.size(); ++i) translations[batch.indices[i]] = std::move(of_batch[i]);
  }
  return translations;
}

double score_of(const TranslationMetric& metric, const std::vector<std::string>& translations,
                const std::vector<std::string>& references) {
  return metric.score(sum_of(count_lines(metric, translations, references)));
}

/// Measures translations of the first pairs.
void measure_translations(const Transformer& model, const std::vector<SentencePair>& pairs, const TextCodec& codec,
                          const EvaluationArguments& arguments, Evaluation& result) {
  auto translations = translate(model, pairs, codec, arguments);
  std::size_t right = 0;
  std::vector<std::string> texts, references;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    right += translations[i].finished && codec.is_right(pairs[i], translations[i].tokens) ? 1 : 0;
    if (i < arguments.samples)
      result.samples.push_back({codec.decode_source(pairs[i].source), codec.decode_target(translations[i].tokens),
                                codec.reference(pairs[i])});
    if (!arguments.bleu) continue;
    std::vector<TokenId>& written = translations[i].tokens;
    written.resize(std::min(written.size(), written_at_most(pairs[i].source)));
    texts.push_back(codec.decode_target(written));
    references.push_back(codec.reference(pairs[i]));
  }
  result.sequence_accuracy = static_cast<double>(right) / static_cast<double>(pairs.size());
  if (!arguments.bleu) return;
  result.bleu = score_of(Bleu(*arguments.bleu), texts, references);
  result.chrf = score_of(Chrf(0), texts, references);
}

}  // namespace

Evaluation evaluate(const Transformer& model, const std::vector<SentencePair>& pairs, const TextCodec& codec,
                    const EvaluationArguments& options) {
  expect(!pairs.empty(), "evaluate", "there are no pairs");
  Evaluation result;
  result.pairs = pairs.size();
  double loss = 0;
  std::size_t right = 0;
  for_each_target(model, pairs, options.batch_size,
                  [&](std::size_t, std::size_t, TokenId token, const Real* row, std::size_t vocabulary) {
                    loss -= static_cast<double>(row[token]);
                    if (token != Vocabulary::unk && std::max_element(row, row + vocabulary) - row == token) ++right;
                    ++result.target_tokens;
                  });
  result.loss = loss / static_cast<double>(result.target_tokens);
  result.perplexity = std::exp(result.loss);
  result.token_accuracy = static_cast<double>(right) / static_cast<double>(result.target_tokens);
  if (codec.one_sided()) {
    std::size_t bytes = 0;
    for (const SentencePair& pair : pairs) bytes += codec.reference(pair).size() + 1;
    result.bits_per_byte = loss / std::log(2) / static_cast<double>(bytes);
    return result;
  }
  result.decoded = std::min(options.decode_at_most, pairs.size());
  if (result.decoded > 0) {
    const auto end = pairs.begin() + static_cast<std::ptrdiff_t>(result.decoded);
    measure_translations(model, {pairs.begin(), end}, codec, options, result);
  }
  return result;
}

std::vector<std::vector<double>> score(const Transformer& model, const std::vector<SentencePair>& pairs,
                                       std::size_t batch_size) {
  std::vector<std::vector<double>> scores;
  for (const SentencePair& pair : pairs) scores.emplace_back(pair.target.size() + 1);
  for_each_target(model, pairs, batch_size,
                  [&](std::size_t index, std::size_t t, TokenId token, const Real* row, std::size_t) {
                    scores[index][t] = static_cast<double>(row[token]);
                  });
  return scores;
}

}  // namespace surd
