#include "train/probe/probe.hpp"

#include "autograd/kernels/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace surd {
namespace {

constexpr const char* first_attention = "encoder.0.self_attention";
constexpr const char* target_side = "target_embedding";
constexpr const char* source_side = "source_embedding";

double squares(const Real* x, std::size_t n) { return static_cast<double>(kernels::dot(x, x, n)); }
double norm(const Tensor& x) { return std::sqrt(squares(x.data(), x.size())); }
double rms(const Tensor& x) { return x.size() == 0 ? 0 : norm(x) / std::sqrt(static_cast<double>(x.size())); }

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

const Parameter* find(const ParameterSet& parameters, const std::string& name) {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

/// Marks the ids of the first lengths[b] of each row of [B, T].
void touch(std::vector<bool>& touched, const std::vector<TokenId>& ids, std::size_t row,
           const std::vector<std::size_t>& lengths) {
  for (std::size_t b = 0; b < lengths.size(); ++b)
    for (std::size_t t = 0; t < lengths[b]; ++t) {
      const auto id = static_cast<std::size_t>(ids[b * row + t]);
      if (id >= touched.size()) touched.resize(id + 1);
      touched[id] = true;
    }
}

}  // namespace

void Probe::add(const std::string& path, std::string_view what, const char* statistic, double number) {
  records_.push_back({path, std::string(what), statistic, number});
}

Observer* Probe::watch(std::size_t index, const Batch& batch) {
  if (index == 0) {
    clear();
    source_lengths_ = batch.source_lengths;
    target_lengths_ = batch.target_lengths;
    for (std::size_t b = 0; b < batch.size; ++b)
      for (std::size_t t = 0; t < batch.target_lengths[b]; ++t)
        own_inputs_.push_back(batch.target_input[b * batch.target_length + t]);
  }
  touch(source_touched_, batch.source, batch.source_length, batch.source_lengths);
  touch(target_touched_, batch.target_input, batch.target_length, batch.target_lengths);
  return index == 0 ? this : nullptr;
}

QueryFilter Probe::filter(const std::string& path, std::size_t batch) const {
  // The encoder's queries are source positions, the decoder's are target positions, in cross-attention too.
  const bool source = path.rfind("encoder", 0) == 0 || path.rfind("source", 0) == 0;
  const auto& lengths = source ? source_lengths_ : target_lengths_;
  if (lengths.size() < batch) return [](std::size_t, std::size_t) { return true; };
  return [&lengths](std::size_t b, std::size_t t) { return t < lengths[b]; };
}

double Probe::rms_of_positions(const std::string& path, const Tensor& value) const {
  if (value.dimension() != 3) return rms(value);
  const QueryFilter counts = filter(path, value.shape()[0]);
  const std::size_t length = value.shape()[1], d = row_length(value);
  double total = 0, count = 0;
  for (std::size_t place = 0; place < row_count(value); ++place) {
    if (!counts(place / length, place % length)) continue;
    total += squares(value.data() + place * d, d);
    count += static_cast<double>(d);
  }
  return count == 0 ? 0 : std::sqrt(total / count);
}

void Probe::value(const std::string& path, std::string_view what, const Tensor& value) {
  if (what == "parameter" || what == "constant" || value.size() == 0) return;
  const auto report = [&](const std::string& name, const char* statistic, double number) {
    add(path, name, statistic, number);
  };
  const QueryFilter counts = filter(path, value.shape()[0]);
  if (what == "factor") {
    score_factors_[path] = static_cast<double>(value.data()[0]);
  } else if (what == "scores") {
    attentions_[path] = attention_shape(value);
    report_scores(value, counts, report);
  } else if (what == "weights") {
    report_weights(value, attentions_[path], counts, report);
  } else if (what == "scores_gradient") {
    report_scores_gradient(value, attentions_[path], counts, report);
  } else if (what == "query_gradient") {
    report_query_gradient(value, attentions_[path], counts, report);
  } else if (what == "positions") {
    positions_ = value;
  } else if (what == "tokens") {
    add_embedding(value);
  } else if (what == "logits") {
    take_logits(value);
  } else if (what == "weight_gradient") {
    Tensor& sum = weight_gradients_[path];
    if (sum.shape() == value.shape())
      kernels::accumulate(value.data(), sum.data(), sum.size());
    else
      sum = value;
  } else if (what == "skip" || what == "branch") {
    residuals_[path].emplace_back(rms_of_positions(path, value));
  } else {
    add(path, what, "rms", rms(value));
    if (residuals_.count(path) != 0) add_residual(path, value);
  }
}

void Probe::gradient(const std::string& path, std::string_view what, const Tensor& gradient) {
  add(path, what, "gradient_rms", rms(gradient));
}

/// The sum that has just been computed; a residual's op lies in its dropout.
void Probe::add_residual(const std::string& path, const Tensor& sum) {
  const std::vector<double> parts = residuals_[path];
  residuals_.erase(path);
  const std::string residual = ends_with(path, ".dropout") ? path.substr(0, path.size() - 8) : path;
  add(residual, "residual", "rms", rms_of_positions(path, sum));
  add(residual, "residual", "skip_rms", parts.front());
  add(residual, "residual", "branch_rms", parts.back());
  if (parts.front() > 0) add(residual, "residual", "branch_to_skip", parts.back() / parts.front());
}

void Probe::add_embedding(const Tensor& tokens) {
  // Where one matrix serves both sides, the path does not tell them apart; a pass embeds the source first.
  const bool source = sums_++ % 2 == 0;
  const std::string path = source ? source_side : target_side;
  const QueryFilter counts = filter(path, tokens.shape()[0]);
  const double token_rms = rms_of_positions(path, tokens);
  add(path, "embedding", "token_rms", token_rms);
  const std::optional<Tensor> positions = std::exchange(positions_, std::nullopt);
  if (!positions) return;

  const std::size_t batch = tokens.shape()[0], length = tokens.shape()[1], d = row_length(tokens);
  double total = 0, centred = 0, count = 0;
  std::vector<double> sum(d);
  for (std::size_t b = 0; b < batch; ++b) {
    std::fill(sum.begin(), sum.end(), 0);
    double of_sequence = 0, places = 0;
    for (std::size_t t = 0; t < length; ++t) {
      if (!counts(b, t)) continue;
      const Real* row = positions->data() + t * d;
      of_sequence += squares(row, d);
      for (std::size_t j = 0; j < d; ++j) sum[j] += static_cast<double>(row[j]);
      ++places;
    }
    if (places == 0) continue;
    double of_mean = 0;
    for (const double column : sum) of_mean += column * column / places;
    total += of_sequence;
    // Of sequences of one position nothing is left but rounding.
    if (places > 1) centred += std::max(0.0, of_sequence - of_mean);
    count += places * static_cast<double>(d);
  }
  const double position_rms = count == 0 ? 0 : std::sqrt(total / count);
  const double centred_rms = count == 0 ? 0 : std::sqrt(centred / count);
  add(path, "embedding", "position_rms", position_rms);
  add(path, "embedding", "centred_position_rms", centred_rms);
  if (position_rms > 0) add(path, "embedding", "rho", token_rms / position_rms);
  if (centred_rms > 0) add(path, "embedding", "rho_centred", token_rms / centred_rms);
  if (!source) return;
  source_tokens_ = tokens;
  source_positions_ = positions;
}

void Probe::take_logits(const Tensor& tile) {
  const std::size_t n = row_length(tile);
  for (std::size_t r = 0; r < row_count(tile); ++r) {
    const Real* row = tile.data() + r * n;
    const auto largest = static_cast<double>(*std::max_element(row, row + n));
    double exps = 0;
    for (std::size_t v = 0; v < n; ++v) {
      const auto logit = static_cast<double>(row[v]);
      logits_.sum += logit;
      logits_.squares += logit * logit;
      exps += std::exp(logit - largest);
    }
    logits_.max = logits_.rows == 0 ? largest : std::max(logits_.max, largest);
    logits_.log_partitions += largest + std::log(exps);
    logits_.count += static_cast<double>(n);
    if (logits_.rows < own_inputs_.size()) {
      const auto own = static_cast<std::size_t>(own_inputs_[logits_.rows]);
      if (own < n) logits_.own += static_cast<double>(row[own]);
    }
    ++logits_.rows;
  }
}

void Probe::add_logits() {
  if (logits_.rows == 0) return;
  const double mean = logits_.sum / logits_.count, rows = static_cast<double>(logits_.rows);
  add("output", "logits", "std", std::sqrt(std::max(0.0, logits_.squares / logits_.count - mean * mean)));
  add("output", "logits", "max", logits_.max);
  add("output", "logits", "log_partition", logits_.log_partitions / rows);
  if (logits_.rows <= own_inputs_.size()) add("output", "logits", "own_input", logits_.own / rows);
}

void Probe::add_score_parts(const ParameterSet& parameters) {
  const std::string path = first_attention;
  const Parameter* query = find(parameters, path + ".query.weight");
  const Parameter* key = find(parameters, path + ".key.weight");
  // Behind a norm of queries and keys, a score is no sum of parts.
  const bool normed = find(parameters, path + ".query_norm.weight") != nullptr;
  const auto shape = attentions_.find(path);
  if (!source_tokens_ || query == nullptr || key == nullptr || normed || shape == attentions_.end()) return;
  const Parameter* learned = find(parameters, path + ".scale");
  const double factor = score_factors_[path] * (learned == nullptr ? 1 : static_cast<double>(learned->value.data()[0]));
  report_score_parts(
      {*source_tokens_, *source_positions_, query->value, key->value, shape->second.heads, factor},
      filter(path, source_tokens_->shape()[0]),
      [&](const std::string& name, const char* statistic, double number) { add(path, name, statistic, number); });
}

/// Both sides of a matrix that is the decoder's input and output.
void Probe::add_tied_gradients(const ParameterSet& parameters) {
  const std::string name = std::string(target_side) + ".weight";
  const auto input = weight_gradients_.find(target_side), output = weight_gradients_.find("output");
  if (find(parameters, name) == nullptr || find(parameters, "output.weight") != nullptr) return;
  if (input != weight_gradients_.end()) add(name, "parameter", "gradient_norm_input", norm(input->second));
  if (output != weight_gradients_.end()) add(name, "parameter", "gradient_norm_output", norm(output->second));
}

void Probe::parameters(const ParameterSet& parameters) {
  add_logits();
  add_score_parts(parameters);
  before_.clear();
  for (const Parameter& parameter : parameters) {
    add(parameter.name, "parameter", "norm", norm(parameter.value));
    if (!parameter.gradient.empty) add(parameter.name, "parameter", "gradient_norm", norm(parameter.gradient.sum));
    before_.push_back(parameter.value);
  }
  add_tied_gradients(parameters);
}

void Probe::noise(const GradientNoise& noise) {
  add("model", "gradient", "squared_norm", noise.squared_norm);
  add("model", "gradient", "noise_trace", noise.trace);
  if (noise.squared_norm > 0 && noise.trace > 0) add("model", "gradient", "noise_scale", noise.scale());
}

void Probe::updated(const ParameterSet& parameters) {
  expect(before_.size() == parameters.size(), "probe", "updated() takes the parameters that parameters() has seen");
  const bool one_matrix = find(parameters, std::string(source_side) + ".weight") == nullptr;  // for both sides
  for (const Parameter& parameter : parameters) {
    const Tensor& before = before_[parameter.index];
    const std::size_t rows = row_count(before), width = row_length(before);
    const bool target = parameter.name == std::string(target_side) + ".weight";
    const bool source = parameter.name == std::string(source_side) + ".weight" || (target && one_matrix);
    const auto touched = [&](std::size_t row) {
      return (source && row < source_touched_.size() && source_touched_[row]) ||
             (target && row < target_touched_.size() && target_touched_[row]);
    };
    double steps[2] = {0, 0}, weights[2] = {0, 0};  // of untouched and touched rows
    Tensor step(Shape{width});
    for (std::size_t r = 0; r < rows; ++r) {
      kernels::subtract(parameter.value.data() + r * width, before.data() + r * width, step.data(), width);
      const std::size_t kind = touched(r) ? 1 : 0;
      steps[kind] += squares(step.data(), width);
      weights[kind] += squares(before.data() + r * width, width);
    }
    const auto add_ratio = [&](const char* statistic, double of_step, double of_weight) {
      if (of_weight > 0) add(parameter.name, "parameter", statistic, std::sqrt(of_step / of_weight));
    };
    add_ratio("update_ratio", steps[0] + steps[1], weights[0] + weights[1]);
    if (!source && !target) continue;
    add_ratio("update_ratio_touched", steps[1], weights[1]);
    add_ratio("update_ratio_untouched", steps[0], weights[0]);
  }
}

}  // namespace surd
