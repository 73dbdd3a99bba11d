#include "experiments/experiment.hpp"

#include "experiments/text_format.hpp"

namespace surd {

Model::Model(const RunConfig& config, const TextCodec& codec) : scope_(parameters_, config.seed) {
  expect(config.model.embedding.tie != Tie::all || codec.shared_vocabulary(), "model.embedding.tie",
         "all needs a shared vocabulary; set task.shared_vocabulary: true or model.embedding.tie: decoder");
  transformer_ = std::make_unique<Transformer>(scope_, config.model, codec.source_vocabulary().size(),
                                               codec.target_vocabulary().size());
}

std::vector<std::string> describe(const RunConfig& config, const Corpus& corpus, const TextCodec& codec, Model& model,
                                  double learning_rate, double padding_share) {
  std::vector<std::string> splits;
  for (const Split& split : corpus.splits)
    splits.push_back(fmt::format("{}{} {}", splits.empty() ? config.task.name() + ": " : "",
                                 with_commas(split.pairs.size()), split.name));
  const Skipped skipped = corpus.skipped();
  if (skipped.empty + skipped.overlong > 0)
    splits.push_back(fmt::format("skipped {} empty, {} overlong", skipped.empty, skipped.overlong));

  const TransformerOptions& m = config.model;
  std::vector<std::string> factors;
  for (const auto& [name, value] : model.factors()) factors.push_back(fmt::format("{} {}", name, value));
  const InitOptions& init = m.embedding.init;
  const std::size_t rows = codec.target_vocabulary().size();

  const TrainOptions& t = config.train;
  const std::string batch = t.batching.batch_size ? fmt::format("{} pairs", *t.batching.batch_size)
                                                  : fmt::format("{} tokens", t.batching.batch_tokens.value_or(0));
  return {
      labelled("task", splits, ","),
      fmt::format("vocabulary  source {}, target {}{}", codec.source_vocabulary().size(), rows,
                  codec.shared_vocabulary() ? " (shared)" : ""),
      labelled("model",
               {fmt::format("d_model {}", m.d_model), fmt::format("heads {}", m.heads),
                fmt::format("layers {}+{}", m.encoder_layers, m.decoder_layers),
                fmt::format("{} {}", name_of(m.norm.placement), m.norm.kind.name()),
                fmt::format("{} positions", m.positions.name()), fmt::format("{} feed-forward", m.feed_forward.name())},
               ","),
      fmt::format("parameters  {}", with_commas(model.parameters().element_count())),
      labelled("factors", factors, ";"),
      fmt::format("embedding   {} of std {:.4g}, tie: {}", name_of(init.distribution), init.deviation(rows, m.d_model),
                  name_of(m.embedding.tie)),
      fmt::format("optimizer   {}, learning rate {:g}, clip norm {}", config.optimizer.name(), learning_rate,
                  t.clip_norm ? fmt::format("{:g}", *t.clip_norm) : "none"),
      fmt::format("schedule    {} over {} updates", config.schedule.name(), with_commas(t.updates)),
      fmt::format("batches     {} x {}, padding {:.1f} %, {} replica{}", batch, t.accumulate, 100 * padding_share,
                  t.replicas, t.replicas == 1 ? "" : "s"),
      fmt::format("seed        {}", config.seed),
  };
}

}  // namespace surd
