#include "layers/attention.hpp"

#include "layers/alibi.hpp"
#include "layers/multi_query.hpp"
#include "layers/relative_bias.hpp"
#include "layers/rotary.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace surd {
namespace {

std::size_t head_width(const Scope& scope, const AttentionPlace& place) {
  expect(place.heads > 0 && place.d_model % place.heads == 0, scope.path(), "{} heads do not divide d_model = {}",
         place.heads, place.d_model);
  return place.d_model / place.heads;
}

std::unique_ptr<RMSNorm> head_norm(const Scope& scope, std::size_t width, const MultiHeadOptions& options) {
  if (options.query_key_norm != QueryKeyNorm::rms_norm) return nullptr;
  return std::make_unique<RMSNorm>(scope, width, NormOptions{options.query_key_norm_epsilon});
}

/// The factor on the initial weights of queries, or of keys and values, of which either have so many rows.
double fused_factor(const MultiHeadOptions& options, const AttentionPlace& place, std::size_t key_value_rows,
                    bool queries) {
  if (!options.init_fused || (queries && !place.one_sequence())) return 1;
  const std::size_t rows = queries ? place.d_model : key_value_rows;
  const std::size_t all = 2 * key_value_rows + (place.one_sequence() ? place.d_model : 0);
  return options.init.deviation(all, place.d_model) / options.init.deviation(rows, place.d_model);
}

/// The names that ProjectionBiases is written with, and what they switch.
const std::pair<const char*, bool ProjectionBiases::*> projections[] = {{"query", &ProjectionBiases::query},
                                                                        {"key", &ProjectionBiases::key},
                                                                        {"value", &ProjectionBiases::value},
                                                                        {"output", &ProjectionBiases::output}};

}  // namespace

std::vector<std::string> names_of(QueryKeyNorm) { return {"false", "rms_norm", "l2"}; }

std::string ProjectionBiases::text() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : projections)
    if (this->*member) names.emplace_back(name);
  if (names.empty()) return "false";
  return names.size() == std::size(projections) ? "true" : fmt::format("{}", fmt::join(names, " "));
}

bool ProjectionBiases::parse(std::string_view text) {
  if (text == "true" || text == "false") {
    *this = text == "true";
    return true;
  }
  ProjectionBiases parsed = false;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const auto* found = std::find_if(std::begin(projections), std::end(projections),
                                     [&](const auto& projection) { return projection.first == word; });
    if (found == std::end(projections) || parsed.*found->second) return false;
    parsed.*found->second = true;
  }
  if (parsed.text() == "false") return false;
  *this = parsed;
  return true;
}

std::vector<std::string> ProjectionBiases::choices() const {
  std::vector<std::string> names = {"true", "false"};
  for (const auto& projection : projections) names.emplace_back(projection.first);
  return names;
}

std::string ProjectionBiases::allowed() const {
  return "true, false, or those that have one, of query, key, value and output (query value output)";
}

std::optional<std::string> ProjectionBiases::pattern() const {
  std::vector<std::string> names;
  for (const auto& projection : projections) names.emplace_back(projection.first);
  return fmt::format("\\s*({0})(\\s+({0})){{0,{1}}}\\s*", fmt::join(names, "|"), names.size() - 1);
}

MultiHeadAttention::MultiHeadAttention(const Scope& scope, const AttentionPlace& place, const Options& options)
    : MultiHeadAttention(scope, place, place.heads, options) {}

MultiHeadAttention::MultiHeadAttention(const Scope& scope, const AttentionPlace& place, std::size_t key_value_heads,
                                       const Options& options)
    : Attention(scope),
      options_(options),
      heads_(place.heads),
      key_value_heads_(key_value_heads),
      head_width_(head_width(scope, place)),
      query_(scope / "query", {place.d_model, place.d_model, options.bias.query, Activation::none, options.init,
                               fused_factor(options, place, key_value_heads * head_width_, true) *
                                   (options.absorb_scale ? options.scale.value(head_width_) : 1),
                               options.bias_std}),
      key_(scope / "key",
           {place.d_model, key_value_heads * head_width_, options.bias.key, Activation::none, options.init,
            fused_factor(options, place, key_value_heads * head_width_, false), options.bias_std}),
      value_(scope / "value",
             {place.d_model, key_value_heads * head_width_, options.bias.value, Activation::none, options.init,
              fused_factor(options, place, key_value_heads * head_width_, false), options.bias_std}),
      output_(scope / "output", {place.d_model, place.d_model, options.bias.output, Activation::none, options.init,
                                 options.output_gain.value(scope.sub_layers()), options.output_bias_std}),
      query_norm_(head_norm(scope / "query_norm", head_width_, options)),
      key_norm_(head_norm(scope / "key_norm", head_width_, options)),
      factor_(scope, "scores", options.scale, head_width_,
              (options.absorb_scale ? ", absorbed into W_q" : "") + capped(options.score_cap)) {
  expect_option(key_value_heads > 0 && place.heads % key_value_heads == 0, "model.attention.key_value_heads",
                "must divide model.heads = {}; got {}", place.heads, key_value_heads);
}

Variable MultiHeadAttention::normalized(Variable x, const RMSNorm* norm) const {
  const Shape& shape = x.shape();
  const Variable heads = reshape(x, {shape[0], shape[1], shape[2] / head_width_, head_width_});
  if (norm != nullptr) return reshape((*norm)(heads), shape);
  // The norm of a vector is sqrt(d_k) times its root mean square.
  const Variable unit = rms_norm(heads, {}, static_cast<Real>(options_.query_key_norm_epsilon));
  return reshape(scale(unit, static_cast<Real>(1 / std::sqrt(static_cast<double>(head_width_)))), shape);
}

Memory MultiHeadAttention::project(Variable x, std::size_t first_position) const {
  Variable keys = key_(x);
  if (options_.query_key_norm != QueryKeyNorm::none) keys = normalized(keys, key_norm_.get());
  return {at_positions(keys, key_value_heads_, first_position), value_(x)};
}

Variable MultiHeadAttention::forward(Variable x, const Memory& memory, const AttentionMask& mask,
                                     std::size_t first_position) const {
  Tape& tape = x.tape();
  Variable queries = query_(x);
  if (options_.query_key_norm != QueryKeyNorm::none) {
    queries = normalized(queries, query_norm_.get());
    tape.observe("normalized_queries", queries.value());
  }
  queries = at_positions(factor_.times_parameter(queries), heads_, first_position);
  AttentionArguments arguments{heads_, options_.absorb_scale ? Real(1) : factor_.number()};
  arguments.keys = memory.length;
  arguments.causal = mask.causal;
  arguments.key_lengths = mask.key_lengths;
  arguments.documents = mask.documents;
  arguments.query_rows = mask.query_rows;
  arguments.key_rows = mask.key_rows;
  arguments.subtract_max = options_.subtract_max ? SubtractMax::yes : SubtractMax::no;
  arguments.score_cap = static_cast<Real>(options_.score_cap.value_or(0));
  arguments.dropout = options_.dropout;
  arguments.stream = tape.stream("dropout", path());
  arguments.key_value_heads = key_value_heads_;
  arguments.first_position = first_position;
  const auto longest = [](const std::shared_ptr<const RaggedRows>& rows, Variable x) {
    return rows != nullptr ? rows->longest() : x.shape()[1];
  };
  adjust(arguments, tape, longest(mask.query_rows, queries),
         memory.length == 0 ? longest(mask.key_rows, memory.keys) : memory.length);
  return output_(attention(queries, memory.keys, memory.values, arguments));
}

AttentionRegistry& attentions() {
  static AttentionRegistry table = [] {
    AttentionRegistry built_in("attention layer");
    built_in.add<MultiHeadAttention>("multi_head", "scaled dot-product attention in several heads");
    built_in.add<MultiQueryAttention>("multi_query", "several heads of queries share each head of keys and values");
    built_in.add<RotaryAttention>("rotary", "queries and keys turned by angles that grow with their positions");
    built_in.add<AlibiAttention>("alibi", "scores fall linearly with the distance of query and key");
    built_in.add<RelativeBiasAttention>("relative_bias", "a learned number for each range of distances, as in T5");
    return built_in;
  }();
  return table;
}

}  // namespace surd
