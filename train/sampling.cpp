#include "train/sampling.hpp"

#include "autograd/base/random.hpp"
#include "autograd/kernels/rows.hpp"

#include <algorithm>
#include <cmath>

namespace surd {
namespace {

/// A text that is being written.
struct Writing {
  std::size_t index;  // among the texts
  TokenId last;
  random::Sequence draws;
};

struct Candidate {
  TokenId token;
  double logit;
  double weight = 0;  // its probability, times what is the same for all
};

/// Of equals the lower id is taken for the likelier.
bool is_likelier(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

/// Brings the likeliest `count` to the front, in their order; the first `sorted` are there already. Returns how many
/// are.
std::size_t sort_first(std::vector<Candidate>& candidates, std::size_t sorted, std::size_t count) {
  const auto at = [&](std::size_t i) { return candidates.begin() + static_cast<std::ptrdiff_t>(i); };
  count = std::min(count, candidates.size());
  std::nth_element(at(sorted), at(count), candidates.end(), is_likelier);
  std::sort(at(sorted), at(count), is_likelier);
  return count;
}

/// How many of the candidates, likeliest first, are needed for a share of their weight. They come to the front.
std::size_t nucleus(std::vector<Candidate>& candidates, double share) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  double sum = 0;
  for (std::size_t i = 0, sorted = 0; i < candidates.size(); ++i) {
    if (i == sorted) sorted = sort_first(candidates, sorted, std::max<std::size_t>(64, 8 * i));
    if ((sum += candidates[i].weight) >= share * total) return i + 1;
  }
  return candidates.size();
}

}  // namespace

TokenId draw_token(const Real* logits, std::size_t vocabulary, const SamplingArguments& arguments, double number) {
  std::vector<Candidate> candidates;
  candidates.reserve(vocabulary);
  for (std::size_t v = 0; v < vocabulary; ++v) {
    expect(std::isfinite(logits[v]), "sample", "the model has the logit {} for token {}: it has diverged",
           static_cast<double>(logits[v]), v);
    if (v != Vocabulary::pad && v != Vocabulary::bos && v != Vocabulary::unk)
      candidates.push_back({static_cast<TokenId>(v), static_cast<double>(logits[v])});
  }
  const Candidate likeliest = *std::min_element(candidates.begin(), candidates.end(), is_likelier);
  if (arguments.temperature == 0) return likeliest.token;
  if (arguments.top_k) candidates.resize(sort_first(candidates, 0, *arguments.top_k));
  for (Candidate& candidate : candidates)
    candidate.weight = std::exp((candidate.logit - likeliest.logit) / arguments.temperature);
  const std::size_t count = arguments.top_p < 1 ? nucleus(candidates, arguments.top_p) : candidates.size();
  double left = 0;
  for (std::size_t i = 0; i < count; ++i) left += candidates[i].weight;
  left *= number;
  for (std::size_t i = 0; i + 1 < count; ++i)
    if ((left -= candidates[i].weight) < 0) return candidates[i].token;
  return candidates[count - 1].token;
}

std::vector<SampledText> sample(const Transformer& model, const std::vector<TokenId>& prompt, std::size_t first,
                                std::size_t count, const SamplingArguments& arguments) {
  expect(!model.has_encoder(), "sample", "the model has an encoder, so it translates; texts are a decoder's alone");
  expect(arguments.temperature >= 0, "sample", "temperature must be at least 0; got {}", arguments.temperature);
  expect(arguments.top_k.value_or(1) > 0, "sample", "top_k must be at least 1; got 0");
  expect(arguments.top_p > 0 && arguments.top_p <= 1, "sample", "top_p must be in (0, 1]; got {}", arguments.top_p);
  expect(arguments.max_length > 0, "sample", "max_length must be at least 1; got 0");
  expect(prompt.size() < model.max_length(), "sample", "a prompt of {} tokens; the model has place for {}",
         prompt.size(), model.max_length() - 1);
  std::vector<SampledText> texts(count);
  if (count == 0) return texts;
  std::vector<TokenId> before{Vocabulary::bos};
  before.insert(before.end(), prompt.begin(), prompt.end());
  std::vector<Writing> writings;
  for (std::size_t i = 0; i < count; ++i)
    writings.push_back(
        {i, before.back(), random::Sequence(random::Stream(arguments.seed, "sample", "text", first + i))});
  before.pop_back();

  const TapeArguments inference = TapeArguments::inference();
  Tape tape(inference);
  DecoderCache cache = model.start(tape, {before, 1, before.size()}, {before.size()});
  cache.select(std::vector<std::size_t>(count, 0));
  const std::size_t limit = std::min(arguments.max_length, model.max_length() - prompt.size());
  for (std::size_t length = 1; !writings.empty(); ++length) {
    std::vector<TokenId> last;
    for (const Writing& writing : writings) last.push_back(writing.last);
    tape.reset(inference);
    Tensor logits = model.logits(model.step(tape, last, cache)).value();
    const std::size_t vocabulary = row_length(logits);
    std::vector<Writing> next;
    std::vector<std::size_t> kept;
    for (std::size_t r = 0; r < writings.size(); ++r) {
      Writing writing = writings[r];
      Real* row = logits.data() + r * vocabulary;
      writing.last = draw_token(row, vocabulary, arguments, writing.draws.uniform());
      kernels::log_softmax_row(row, row, vocabulary);
      SampledText& text = texts[writing.index];
      text.log_probability += static_cast<double>(row[writing.last]);
      text.finished = writing.last == Vocabulary::eos;
      if (text.finished) continue;
      text.tokens.push_back(writing.last);
      if (length == limit) continue;
      next.push_back(writing);
      kept.push_back(r);
    }
    if (!next.empty() && next.size() < writings.size()) cache.select(kept);
    writings = std::move(next);
  }
  return texts;
}

}  // namespace surd
