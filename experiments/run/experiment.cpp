#include "experiments/run/experiment.hpp"

#include "autograd/base/counted.hpp"
#include "autograd/base/machine_memory.hpp"
#include "experiments/config/config_error.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/run/data/unknown_tokens.hpp"

#include <algorithm>

namespace surd {

namespace {

/// Refuses a run that would have no split to evaluate at its end.
void expect_splits(const Corpus& corpus, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Split& split : corpus.splits)
    if (!split.pairs.empty()) known.push_back(split.name);
  for (const std::string& name : names) {
    expect_option(includes(known, name), "train.evaluate_splits", "the task has no split '{}' with pairs in it{}", name,
                  not_among(name, known));
    expect_option(std::count(names.begin(), names.end(), name) == 1, "train.evaluate_splits",
                  "'{}' stands there twice; remove one", name);
  }
}

/// Refuses a run that would stop in the middle, or at its end, at a sentence the model has no positions for.
void expect_positions(const Corpus& corpus, const Dataset& dataset, const Transformer& model,
                      const std::vector<std::string>& splits) {
  std::size_t longest = 0;
  const SentencePair* longest_pair = nullptr;
  std::string split;
  for (const std::string& name : splits) {
    for (const SentencePair& pair : dataset.split(name)) {
      const std::size_t length = model.sequence_length(pair.source.size(), pair.target.size() + 1);
      if (length <= longest) continue;
      longest = length;
      longest_pair = &pair;
      split = name;
    }
  }
  if (longest <= model.max_length()) return;
  throw OptionError("model.positions.max_length",
                    fmt::format("must be at least {}, the length of the longest pair ({} of {}); got {}", longest,
                                quoted(*longest_pair, corpus.split(split), dataset.codec), split, model.max_length()));
}

void expect_sides(const RunConfig& config, const TextCodec& codec) {
  const TrainOptions& train = config.train;
  expect_option(!codec.one_sided() || config.model.kind == ModelKind::decoder_only, "model.kind",
                "must be decoder_only for the task {}, whose texts have no source; set model.kind: decoder_only",
                config.task.name());
  const bool translates =
      train.evaluate_bleu || train.metric == Metric::bleu || train.metric == Metric::sequence_accuracy;
  expect_option(!codec.one_sided() || !translates, train.evaluate_bleu ? "train.evaluate_bleu" : "train.metric",
                "is of translations, and the task {} has none; remove it", config.task.name());
  expect_option(config.model.kind != ModelKind::decoder_only || codec.shared_vocabulary(), "model.kind",
                "decoder_only needs a shared vocabulary; set task.shared_vocabulary: true");
  expect_option(config.model.embedding.tie != Tie::all || codec.shared_vocabulary(), "model.embedding.tie",
                "all needs a shared vocabulary; set task.shared_vocabulary: true or model.embedding.tie: decoder");
}

/// Refuses a model that this machine has no memory for, before any of it is made: that would take minutes.
void expect_memory(const RunConfig& config, const TextCodec& codec) {
  ParameterSet parameters = ParameterSet::counting();
  const Transformer counted(Scope(parameters, config.seed), config.model, codec.source_vocabulary().size(),
                            codec.target_vocabulary().size());
  constexpr double billion = 1e9, gib = 1 << 30;
  const double needed = 2 * sizeof(Real) * parameters.counted(), there = machine_memory_bytes();
  expect_option(needed <= there, "model.d_model",
                "the model has {:.1f} billion parameters, which take {:.1f} GiB with their gradients; this machine has "
                "{:.1f} GiB: lower model.d_model, model.feed_forward.width or the number of layers",
                parameters.counted() / billion, needed / gib, there / gib);
}

}  // namespace

std::string quoted(const SentencePair& pair, const Split& split, const TextCodec& codec) {
  for (const TextPair& text : split.pairs) {
    const SentencePair ids = codec.encode(text);
    if (ids.source == pair.source && ids.target == pair.target)
      return fmt::format("'{}'", shown(pair.source.size() > pair.target.size() ? text.source : text.target));
  }
  return "a pair";  // which cannot be: it comes from the split
}

Model::Model(const RunConfig& config, const TextCodec& codec) : scope_(parameters_, config.seed) {
  expect_sides(config, codec);
  transformer_ = std::make_unique<Transformer>(scope_, config.model, codec.source_vocabulary().size(),
                                               codec.target_vocabulary().size());
}

Experiment::Experiment(const ConfigFile& file, const std::string& vocabulary) {
  const RunConfig& config = file.config;
  std::vector<Problem> problems;
  const auto attempt = [&](const auto& step) {
    try {
      step();
    } catch (const OptionError& error) {
      problems.push_back(file.document.locate(error));
    }
  };
  std::unique_ptr<Task> task;
  attempt([&] { task = config.task.make(); });
  if (task == nullptr) throw ConfigError(std::move(problems));
  attempt([&] { data = vocabulary.empty() ? load_data(config) : load_data(config, vocabulary); });
  const bool loaded = data.dataset != nullptr;
  if (!loaded) {  // an empty one will do to check the model's options too
    Corpus empty;
    empty.shared_vocabulary = task->format().shared_vocabulary;
    empty.one_sided = task->format().one_sided;
    empty.splits = {Split{"train", {}}};
    data.dataset = std::make_shared<const Dataset>(empty);
  }
  const Dataset& dataset = *data.dataset;
  unknown = unknown_shares(dataset);
  attempt([&] {
    expect_sides(config, dataset.codec);
    expect_memory(config, dataset.codec);
    model = std::make_unique<Model>(config, dataset.codec);
  });
  attempt([&] { schedule = config.schedule.make(config.train.updates); });
  if (model) attempt([&] { optimizer = config.optimizer.make(model->parameters()); });
  if (loaded)
    attempt([&] {
      expect_splits(*data.corpus, config.train.evaluate_splits);
      splits.insert(splits.end(), config.train.evaluate_splits.begin(), config.train.evaluate_splits.end());
    });
  if (model && loaded) attempt([&] { expect_positions(*data.corpus, dataset, model->transformer(), splits); });
  if (loaded)
    attempt([&] {
      const Sides sides = config.model.kind == ModelKind::decoder_only ? Sides::joined : Sides::two;
      padding_share = Batcher(dataset.split("train"), config.train.batching, config.seed, sides).padding_share(0);
    });
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

std::string left_out_of(const Split& split, std::size_t overlong) {
  std::vector<std::string> parts;
  if (split.blank > 0) parts.push_back(fmt::format("{} empty", with_commas(split.blank)));
  if (overlong > 0) parts.push_back(fmt::format("{} overlong", with_commas(overlong)));
  return fmt::format("{}", fmt::join(parts, " and "));
}

std::vector<std::string> describe(const RunConfig& config, const Experiment& experiment) {
  const Corpus& corpus = *experiment.data.corpus;
  const Dataset& dataset = *experiment.data.dataset;
  const TextCodec& codec = dataset.codec;
  Model& model = *experiment.model;
  std::vector<std::string> splits;
  for (const EncodedSplit& split : dataset.splits)
    splits.push_back(fmt::format("{}{} {}", splits.empty() ? config.task.name() + ": " : "",
                                 with_commas(split.pairs.size()), split.name));
  for (const EncodedSplit& split : dataset.splits)
    if (const std::string left_out = left_out_of(corpus.split(split.name), split.overlong); !left_out.empty())
      splits.push_back(fmt::format("left out of {} {}", split.name, left_out));

  const TransformerOptions& m = config.model;
  std::vector<std::string> factors;
  for (const auto& [name, value] : model.factors()) factors.push_back(fmt::format("{} {}", name, value));
  const InitOptions& init = m.embedding.init;
  const std::size_t rows = codec.target_vocabulary().size();

  const TrainOptions& t = config.train;
  const std::string batch = t.batching.batch_size ? fmt::format("{} pairs", *t.batching.batch_size)
                                                  : fmt::format("{} tokens", t.batching.batch_tokens.value_or(0));
  const std::string packed =
      t.batching.packed_length ? fmt::format(", packed into rows of {}", *t.batching.packed_length) : std::string();
  std::vector<std::string> lines = {
      labelled("task", splits, ","),
      fmt::format("vocabulary  {}{}",
                  codec.one_sided() ? fmt::format("{}", rows)
                                    : fmt::format("source {}, target {}{}", codec.source_vocabulary().size(), rows,
                                                  codec.shared_vocabulary() ? " (shared)" : ""),
                  corpus.subwords.name() == "words" ? "" : fmt::format(", {}", corpus.subwords.name())),
  };
  if (worth_telling(experiment.unknown, corpus))
    for (std::string& line : describe(experiment.unknown, corpus)) lines.push_back(std::move(line));
  constexpr std::size_t most_looked_at = 1'000'000;
  double peak = t.updates > most_looked_at ? 1 : 0;  // below 1 where a warm-up is longer than the run
  for (std::uint64_t update = 1; update <= t.updates && peak < 1; ++update)
    peak = std::max(peak, experiment.schedule->factor(update));
  const std::vector<std::string> rest = {
      labelled("model",
               {fmt::format("d_model {}", m.d_model), fmt::format("heads {}", m.heads),
                m.kind == ModelKind::decoder_only ? fmt::format("layers {}, decoder only", m.decoder_layers)
                                                  : fmt::format("layers {}+{}{}", m.encoder_layers, m.decoder_layers,
                                                                m.decoder_layers == 0 ? ", which read no source" : ""),
                fmt::format("{} {}", name_of(m.norm.placement), m.norm.kind.name()),
                fmt::format("{} positions", m.positions.name()), fmt::format("{} attention", m.attention.name()),
                fmt::format("{} feed-forward", m.feed_forward.name())},
               ","),
      fmt::format("parameters  {}", with_commas(model.parameters().element_count())),
      labelled("factors", factors, ";"),
      fmt::format("embedding   {} of std {:.4g}, tie: {}", name_of(init.distribution), init.deviation(rows, m.d_model),
                  name_of(m.embedding.tie)),
      fmt::format("optimizer   {}, learning rate {:g}, clip norm {}", config.optimizer.name(),
                  experiment.optimizer->learning_rate(), t.clip_norm ? fmt::format("{:g}", *t.clip_norm) : "none"),
      fmt::format("schedule    {} over {} updates{}", config.schedule.name(), with_commas(t.updates),
                  peak < 1 ? fmt::format("; its factor reaches {:.3g}", peak) : ""),
      fmt::format("batches     {} x {}{}, padding {:.1f} %, {}", batch, t.accumulate, packed,
                  100 * experiment.padding_share, counted(t.replicas, "replica")),
      fmt::format("seed        {}", config.seed),
  };
  lines.insert(lines.end(), rest.begin(), rest.end());
  return lines;
}

}  // namespace surd
