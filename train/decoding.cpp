#include "train/decoding.hpp"

#include "autograd/kernels/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace surd {
namespace {

/// A row of the decoder: one unfinished hypothesis of one source.
struct Row {
  std::size_t source;
  std::vector<TokenId> tokens;
  double log_probability;
};

struct Extension {
  std::size_t row;
  TokenId token;
  double log_probability;
};

/// The best one-token extensions of rows [begin, end), best first, of which a beam needs no more; ties go to the
/// earlier row and the lower id.
std::vector<Extension> best_extensions(const std::vector<Row>& rows, std::size_t begin, std::size_t end,
                                       const Tensor& log_probabilities, const DecodingArguments& options) {
  // 2 beam: even if half of them end here, `beam` go on.
  const std::size_t count = options.beam == 1 ? 1 : 2 * options.beam;
  const std::size_t vocabulary = row_length(log_probabilities);
  std::vector<Extension> best;
  const auto better = [](const Extension& a, const Extension& b) { return a.log_probability > b.log_probability; };
  for (std::size_t r = begin; r < end; ++r) {
    const Real* row = log_probabilities.data() + r * vocabulary;
    for (std::size_t v = 0; v < vocabulary; ++v) {
      if (v == Vocabulary::pad || v == Vocabulary::bos || (v == Vocabulary::unk && !options.allow_unknown)) continue;
      const Extension extension{r, static_cast<TokenId>(v), rows[r].log_probability + static_cast<double>(row[v])};
      if (best.size() == count && !better(extension, best.back())) continue;
      best.insert(std::upper_bound(best.begin(), best.end(), extension, better), extension);
      if (best.size() > count) best.pop_back();
    }
  }
  return best;
}

/// Whether `rows` keeps all of `count` rows in their order.
bool is_identity(const std::vector<std::size_t>& rows, std::size_t count) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i] != i) return false;
  return rows.size() == count;
}

double score(double log_probability, std::size_t length, const DecodingArguments& options) {
  const auto n = static_cast<double>(length);
  const double base = options.normalization == LengthNormalization::gnmt ? (5 + n) / 6 : n;
  return log_probability / std::pow(base, options.length_penalty);
}

/// The best translations of a source, the best first.
class NBest {
 public:
  explicit NBest(std::size_t count) : count_(count) {}

  /// Of equals the first stays.
  void offer(Translation translation) {
    const auto better = [](const Translation& a, const Translation& b) {
      return a.finished != b.finished ? a.finished : a.score > b.score;  // what was cut is worse, whatever its score
    };
    list_.insert(std::upper_bound(list_.begin(), list_.end(), translation, better), std::move(translation));
    if (list_.size() > count_) list_.pop_back();
  }

  /// The score that the next one has to exceed.
  double bound() const { return list_.size() < count_ ? -std::numeric_limits<double>::infinity() : list_.back().score; }

  std::vector<Translation> take() { return std::move(list_); }

 private:
  std::size_t count_;
  std::vector<Translation> list_;
};

/// What decode_n_best() finds for sources that can be decoded together.
std::vector<std::vector<Translation>> search(const Transformer& model, const std::vector<std::vector<TokenId>>& sources,
                                             const DecodingArguments& options) {
  std::vector<std::size_t> lengths;
  for (const auto& source : sources) lengths.push_back(source.size());
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<TokenId> ids(sources.size() * longest, Vocabulary::pad);
  for (std::size_t i = 0; i < sources.size(); ++i)
    std::copy(sources[i].begin(), sources[i].end(), ids.begin() + static_cast<std::ptrdiff_t>(i * longest));

  const TapeArguments inference = TapeArguments::inference();
  Tape tape(inference);
  DecoderCache cache = model.start(tape, {ids, sources.size(), longest}, lengths);

  std::vector<Row> rows;
  for (std::size_t i = 0; i < sources.size(); ++i) rows.push_back({i, {}, 0});
  std::vector<NBest> best(sources.size(), NBest(options.n_best));
  const auto offer = [&](std::size_t source, Translation translation) {
    const std::size_t length = translation.tokens.size() + (translation.finished ? 1 : 0);
    translation.score = score(translation.log_probability, length, options);
    best[source].offer(std::move(translation));
  };

  std::vector<std::size_t> limits;  // of each source's translation
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::size_t limit = options.max_lengths.empty() ? options.max_length : options.max_lengths[i];
    if (options.max_lengths.empty() && options.max_length_factor > 0)
      limit = std::min(limit, length_limit(options.max_length_factor, lengths[i]));
    limits.push_back(std::min(limit, model.has_encoder() ? model.max_length() : model.max_length() - lengths[i]));
  }
  for (std::size_t length = 1; !rows.empty(); ++length) {
    std::vector<TokenId> last;
    for (const Row& row : rows) last.push_back(row.tokens.empty() ? Vocabulary::bos : row.tokens.back());
    tape.reset(inference);
    Tensor scores = model.logits(model.step(tape, last, cache)).value();
    const std::size_t vocabulary = row_length(scores);
    for (std::size_t r = 0; r < rows.size(); ++r)
      kernels::log_softmax_row(scores.data() + r * vocabulary, scores.data() + r * vocabulary, vocabulary);

    std::vector<Row> next;
    std::vector<std::size_t> kept;
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
      const std::size_t source = rows[begin].source;
      while (end < rows.size() && rows[end].source == source) ++end;
      const auto extensions = best_extensions(rows, begin, end, scores, options);
      std::size_t going_on = 0;
      for (std::size_t rank = 0; rank < extensions.size() && going_on < options.beam; ++rank) {
        const Extension& extension = extensions[rank];
        std::vector<TokenId> tokens = rows[extension.row].tokens;
        if (extension.token == Vocabulary::eos) {
          if (rank < options.beam) offer(source, {std::move(tokens), extension.log_probability, true});
          continue;
        }
        // No extension can get among the best once even a certain continuation would score too low.
        if (score(extension.log_probability, limits[source], options) <= best[source].bound()) continue;
        tokens.push_back(extension.token);
        if (length == limits[source]) {
          offer(source, {std::move(tokens), extension.log_probability, false});
          continue;
        }
        next.push_back({source, std::move(tokens), extension.log_probability});
        kept.push_back(extension.row);
        ++going_on;
      }
    }
    rows = std::move(next);
    if (!rows.empty() && !is_identity(kept, last.size())) cache.select(kept);
  }
  std::vector<std::vector<Translation>> translations;
  for (NBest& list : best) translations.push_back(list.take());
  return translations;
}

}  // namespace

std::vector<std::string> names_of(LengthNormalization) { return {"gnmt", "fairseq"}; }

std::size_t length_limit(double max_length_factor, std::size_t source_length) {
  const double limit = max_length_factor * static_cast<double>(source_length) + 20;
  constexpr auto longest = std::numeric_limits<std::size_t>::max();
  return limit < static_cast<double>(longest) ? static_cast<std::size_t>(limit) : longest;
}

std::vector<Translation> decode(const Transformer& model, const std::vector<std::vector<TokenId>>& sources,
                                DecodingArguments options) {
  options.n_best = 1;
  std::vector<Translation> best;
  for (std::vector<Translation>& list : decode_n_best(model, sources, options)) best.push_back(std::move(list.front()));
  return best;
}

std::vector<std::vector<Translation>> decode_n_best(const Transformer& model,
                                                    const std::vector<std::vector<TokenId>>& sources,
                                                    const DecodingArguments& options) {
  expect(options.beam > 0 && options.max_length > 0, "decode", "beam and max_length must be at least 1; got {} and {}",
         options.beam, options.max_length);
  expect(options.length_penalty >= 0, "decode", "length_penalty must be at least 0; got {}", options.length_penalty);
  expect(options.max_lengths.empty() || options.max_lengths.size() == sources.size(), "decode",
         "{} max_lengths for {} sources", options.max_lengths.size(), sources.size());
  for (const std::size_t limit : options.max_lengths) expect(limit > 0, "decode", "max_lengths must be at least 1");
  expect(options.n_best > 0 && options.n_best <= options.beam, "decode", "n_best must be in [1, beam]; got {} of {}",
         options.n_best, options.beam);
  for (const auto& source : sources) {
    expect(!source.empty(), "decode", "a source must hold at least its eos");
    expect(source.size() <= model.max_source_length(), "decode", "a source of {} tokens; the model has place for {}",
           source.size(), model.max_source_length());
  }
  if (sources.empty()) return {};
  if (model.has_encoder()) return search(model, sources, options);

  // A source is the beginning of the sequence, so only those of one length can be decoded together.
  std::map<std::size_t, std::vector<std::size_t>> by_length;
  for (std::size_t i = 0; i < sources.size(); ++i) by_length[sources[i].size()].push_back(i);
  std::vector<std::vector<Translation>> translations(sources.size());
  for (const auto& [length, indices] : by_length) {
    std::vector<std::vector<TokenId>> group;
    DecodingArguments of_group = options;
    of_group.max_lengths.clear();
    for (const std::size_t i : indices) {
      group.push_back(sources[i]);
      if (!options.max_lengths.empty()) of_group.max_lengths.push_back(options.max_lengths[i]);
    }
    std::vector<std::vector<Translation>> found = search(model, group, of_group);
    for (std::size_t i = 0; i < indices.size(); ++i) translations[indices[i]] = std::move(found[i]);
  }
  return translations;
}

}  // namespace surd
