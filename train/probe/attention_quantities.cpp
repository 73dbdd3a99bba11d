#include "train/probe/attention_statistics.hpp"
#include "train/probe/quantities.hpp"

#include <map>
#include <optional>
#include <string>

namespace surd {
namespace {

/// Records at the path of an event what the functions of attention_statistics.hpp report.
StatisticSink at(ProbedUpdate& update, const std::string& path) {
  return [&update, &path](const std::string& what, const char* statistic, double number) {
    update.record(path, what, statistic, number);
  };
}

/// A parameter that may not be there.
const Parameter* find(const ParameterSet& parameters, const std::string& name) {
  for (const Parameter& parameter : parameters)
    if (parameter.name == name) return &parameter;
  return nullptr;
}

/// The first attention of the source, and the two parts of the sum that it is given.
struct FirstAttention {
  std::optional<Tensor> tokens, positions;  // [B, S, d], [S, d]
  PositionFilter counts;
  std::string path;  // empty until its scores are there
  double factor = 1;
  std::size_t heads = 0;
  bool normalized = false;  // its queries and keys
};

}  // namespace

void watch_attention(ProbedUpdate& update) {
  auto& shapes = update.keep<std::map<std::string, AttentionShape>>();  // by path
  update.on("scores", [&](const Event& scores) {
    shapes[scores.path] = attention_shape(scores.tensor);
    report_scores(scores.tensor, update.positions(scores), at(update, scores.path));
  });
  update.on("weights", [&](const Event& weights) {
    report_weights(weights.tensor, shapes[weights.path], update.positions(weights), at(update, weights.path));
  });
  update.on("scores_gradient", [&](const Event& gradient) {
    report_scores_gradient(gradient.tensor, shapes[gradient.path], update.positions(gradient),
                           at(update, gradient.path));
  });
  update.on("query_gradient", [&](const Event& gradient) {
    report_query_gradient(gradient.tensor, shapes[gradient.path], update.positions(gradient),
                          at(update, gradient.path));
  });
}

void watch_score_parts(ProbedUpdate& update) {
  auto& first = update.keep<FirstAttention>();
  update.on("positions", [&](const Event& positions) {
    if (positions.side == ModelSide::source) first.positions = positions.tensor;
  });
  update.on("tokens", [&](const Event& tokens) {
    if (tokens.side != ModelSide::source) return;
    first.tokens = tokens.tensor;
    first.counts = update.positions(tokens);
  });
  update.on("factor", [&](const Event& factor) {
    if (factor.side == ModelSide::source && first.path.empty())
      first.factor = static_cast<double>(factor.tensor.data()[0]);
  });
  update.on("normalized_queries", [&](const Event& queries) {
    if (queries.side == ModelSide::source) first.normalized = true;
  });
  update.on("scores", [&](const Event& scores) {
    if (scores.side != ModelSide::source || !first.path.empty()) return;
    first.path = scores.path;
    first.heads = attention_shape(scores.tensor).heads;
  });
  update.before_step([&](const ParameterSet& parameters) {
    if (!first.tokens || !first.positions || first.path.empty()) return;
    // The names that MultiHeadAttention gives its children: an attention of another kind has no parts.
    const Parameter* query = find(parameters, first.path + ".query.weight");
    const Parameter* key = find(parameters, first.path + ".key.weight");
    const Parameter* learned = find(parameters, first.path + ".scale");
    if (query == nullptr || key == nullptr) return;
    if (first.normalized) return;  // a score is no sum of parts
    const double factor = first.factor * (learned == nullptr ? 1 : static_cast<double>(learned->value.data()[0]));
    report_score_parts({*first.tokens, *first.positions, query->value, key->value, first.heads, factor}, first.counts,
                       at(update, first.path));
  });
}

}  // namespace surd
