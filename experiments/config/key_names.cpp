#include "experiments/config/key_names.hpp"

#include "autograd/base/scoped.hpp"
#include "experiments/config/read_scalar.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace surd {
namespace {

/// A name that people bring along, and what has its place here.
struct Synonym {
  std::string_view elsewhere, here;
};
constexpr Synonym synonyms[] = {
    // of the model
    {"hidden_size", "d_model"},
    {"embedding_dim", "d_model"},
    {"emb_dim", "d_model"},
    {"num_heads", "heads"},
    {"n_heads", "heads"},
    {"nhead", "heads"},
    {"attention_heads", "heads"},
    {"layers", "encoder_layers"},
    {"layers", "decoder_layers"},
    {"num_layers", "encoder_layers"},
    {"num_layers", "decoder_layers"},
    {"n_layers", "encoder_layers"},
    {"n_layers", "decoder_layers"},
    {"d_ff", "width"},
    {"dim_feedforward", "width"},
    {"ffn_dim", "width"},
    {"ffn_hidden_size", "width"},
    {"ff_size", "width"},
    {"dim_emb", "d_model"},
    {"encoder_embed_dim", "d_model"},
    {"decoder_embed_dim", "d_model"},
    {"encoder_ffn_embed_dim", "width"},
    {"transformer_dim_ffn", "width"},
    {"encoder_attention_heads", "heads"},
    {"encoder_normalize_before", "placement"},
    {"transformer_dropout", "dropout"},
    {"no_scale_embedding", "scale"},
    {"scale_embedding", "scale"},
    {"tie_embeddings", "tie"},
    {"tie_word_embeddings", "tie"},
    {"share_decoder_input_output_embed", "tie"},
    {"voc_limit", "vocabulary_limit"},
    {"voc_min_freq", "min_frequency"},
    {"joined_dictionary", "shared_vocabulary"},
    {"enc_depth", "encoder_layers"},
    {"dec_depth", "decoder_layers"},
    {"transformer_heads", "heads"},
    {"share_all_embeddings", "tie"},
    {"tied_embeddings", "tie"},
    {"tied_embeddings_all", "tie"},
    {"tied_softmax", "tie"},
    {"rope", "rotary"},
    {"mha", "multi_head"},
    {"mqa", "multi_query"},
    {"gqa", "multi_query"},
    {"t5", "relative_bias"},
    {"glu", "gated"},
    {"swiglu", "gated"},
    {"geglu", "gated"},
    {"reglu", "gated"},
    {"mlp", "position_wise"},
    {"ffn", "position_wise"},
    {"prenorm", "pre"},
    {"pre_norm", "pre"},
    {"postnorm", "post"},
    {"post_norm", "post"},
    {"swish", "silu"},
    // of training
    {"lr", "learning_rate"},
    {"eps", "epsilon"},
    {"betas", "beta1"},
    {"betas", "beta2"},
    {"noam", "inverse_sqrt"},
    {"rsqrt", "inverse_sqrt"},
    {"inverse_square_root", "inverse_sqrt"},
    {"cosine_annealing", "cosine"},
    {"reduce_on_plateau", "plateau"},
    {"warmup_steps", "warmup"},
    {"warmup_updates", "warmup"},
    {"steps", "updates"},
    {"max_steps", "updates"},
    {"num_steps", "updates"},
    {"train_steps", "updates"},
    {"iterations", "updates"},
    {"epochs", "updates"},
    {"max_epochs", "updates"},
    {"num_epochs", "updates"},
    {"max_tokens", "batch_tokens"},
    {"update_freq", "accumulate"},
    {"gradient_accumulation_steps", "accumulate"},
    {"grad_clip", "clip_norm"},
    {"max_grad_norm", "clip_norm"},
    {"eval_every", "evaluate_every"},
    {"eval_steps", "evaluate_every"},
    {"save_every", "checkpoint_every"},
    {"save_steps", "checkpoint_every"},
    {"logging_steps", "log_every"},
    {"max_update", "updates"},
    {"after_batches", "updates"},
    {"random_seed", "seed"},
    {"scheduling", "schedule"},
    {"batch_type", "batch_tokens"},
    {"mini_batch_words", "batch_tokens"},
    {"max_epoch", "updates"},
    {"after_epochs", "updates"},
    {"clip_grad_norm", "clip_norm"},
    {"learning_rate_warmup", "warmup"},
    {"lr_decay_inv_sqrt", "warmup"},
    {"adam_beta1", "beta1"},
    {"adam_beta2", "beta2"},
    {"adam_betas", "beta1"},
    {"adam_betas", "beta2"},
    {"adam_eps", "epsilon"},
    {"mini_batch", "batch_size"},
    {"batch_multiplier", "accumulate"},
    {"optimizer_delay", "accumulate"},
    {"validation_freq", "evaluate_every"},
    {"valid_freq", "evaluate_every"},
    {"validate_interval_updates", "evaluate_every"},
    {"logging_freq", "log_every"},
    {"disp_freq", "log_every"},
    {"log_interval", "log_every"},
    {"save_freq", "checkpoint_every"},
    {"save_interval_updates", "checkpoint_every"},
    {"keep_best_ckpts", "keep_checkpoints"},
    {"keep_last_ckpts", "keep_checkpoints"},
    {"early_stopping_metric", "metric"},
    {"eval_metric", "metric"},
    {"early_stopping", "patience"},
    {"data", "task"},
    {"training", "train"},
};

/// Collects the names of the keys that a field list reads in its mapping.
class KeyNames : public Fields {
 public:
  explicit KeyNames(std::string text = "") : text_(std::move(text)) {}
  std::vector<std::string> names;
  std::string taker;  // the first key that takes `text` for its value

  void rule(bool, const char*, const std::string&) override {}

 private:
  void add(const Field& field) { names.emplace_back(field.name); }
  void visit(const Field& field, bool&) override { add(field); }
  void visit(const Field& field, std::size_t&) override { add(field); }
  void visit(const Field& field, double&) override { add(field); }
  void visit(const Field& field, std::string&) override { add(field); }
  void visit(const Field& field, std::optional<std::size_t>&) override { add(field); }
  void visit(const Field& field, std::optional<double>&) override { add(field); }
  void visit(const Field& field, Word& value) override {
    add(field);
    take(field.name, value.choices());
  }
  void visit(const Field& field, std::vector<std::string>&) override { add(field); }
  void visit_group(const Field& field, const Members&) override { add(field); }
  void visit_choice(const Field& field, const char* selector, AnyChoice& choice) override {
    if (*field.name != '\0') {
      take(fmt::format("{}.{}", field.name, selector), choice.names());
      return add(field);
    }
    names.emplace_back(selector);
    take(selector, choice.names());
    choice.fields(*this);
  }
  void visit_list(const Field& field, std::size_t, const std::function<void(std::size_t)>&,
                  const std::function<void(std::size_t, Fields&)>&) override {
    add(field);
  }
  void take(const std::string& key, const std::vector<std::string>& values) {
    if (taker.empty() && includes(values, text_)) taker = key;
  }

  std::string text_;
};

/// Finds what the value at a path may be. Values are read into the fields to try them.
class ValueAtPath : public Fields {
 public:
  ValueAtPath(std::string path, std::string text) : path_(std::move(path)) {
    text_.kind = number_.kind = whole_.kind = YamlNode::Kind::scalar;
    text_.text = std::move(text);
    number_.text = "0.5";
    whole_.text = "1";
  }
  KeyValue found;

  void rule(bool, const char*, const std::string&) override {}

 private:
  template <class T>
  bool takes(const YamlNode& node, T& value) {
    return !read_scalar(node, {}, value);
  }
  template <class T>
  void single(const Field& field, T& value) {
    if (path_ != field.name) return;
    const bool any = takes(number_, value), whole = !any && takes(whole_, value);
    if (any || whole) found.whole = whole && (found.whole || !found.number);
    found.number = found.number || any || whole;
    found.text = found.text || takes(text_, value);
  }
  void visit(const Field& field, bool& value) override { single(field, value); }
  void visit(const Field& field, std::size_t& value) override { single(field, value); }
  void visit(const Field& field, double& value) override { single(field, value); }
  void visit(const Field& field, std::string&) override { found.text = found.text || path_ == field.name; }
  void visit(const Field&, std::vector<std::string>&) override {}  // no number, nor a word in place of one
  void visit(const Field& field, std::optional<std::size_t>& value) override { single(field, value); }
  void visit(const Field& field, std::optional<double>& value) override { single(field, value); }
  void visit(const Field& field, Word& value) override {
    single(field, value);
    if (path_ == field.name)
      for (const std::string& word : value.choices()) found.words.push_back(word);
  }
  /// Calls f where the path leads on beneath `name`, with what follows there.
  template <class F>
  void descend(const std::string& name, F f) {
    if (path_.size() <= name.size() || path_.compare(0, name.size(), name) != 0 || path_[name.size()] != '.') return;
    const Scoped rest(path_, path_.substr(name.size() + 1));
    f();
  }
  void visit_group(const Field& field, const Members& members) override {
    descend(field.name, [&] { members(*this); });
  }
  void visit_choice(const Field& field, const char*, AnyChoice& choice) override {
    const auto all = [&] {
      for (const std::string& name : choice.names()) choice.fields_of(name, *this);
    };
    *field.name == '\0' ? all() : descend(field.name, all);
  }
  void visit_list(const Field& field, std::size_t, const std::function<void(std::size_t)>& resize,
                  const std::function<void(std::size_t, Fields&)>& members) override {
    descend(field.name, [&] {
      const std::string index = path_.substr(0, path_.find('.'));
      if (index.empty() || index.find_first_not_of("0123456789") != std::string::npos) return;
      resize(1);
      descend(index, [&] { members(0, *this); });
    });
  }

  std::string path_;
  YamlNode text_, number_, whole_;
};

}  // namespace

bool mentions(const std::string& text, const std::string& name) {
  const auto part_of_word = [&](std::size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  for (std::size_t i = text.find(name); i != std::string::npos; i = text.find(name, i + 1))
    if (!part_of_word(i - 1) && !part_of_word(i + name.size())) return true;
  return false;
}

std::string help_with_names(std::string help, const AnyChoice& choice) {
  const std::vector<std::string> names = choice.names();
  for (const std::string& name : names)
    help += fmt::format("{}{}: {}", name == names.front() ? ". " : "; ", name, choice.help(name));
  return help;
}

std::vector<std::string> keys_of(const AnyChoice& choice, const std::string& name) {
  KeyNames keys;
  choice.fields_of(name, keys);
  return keys.names;
}

std::vector<std::string> keys_of(const std::function<void(Fields&)>& list) {
  KeyNames keys;
  list(keys);
  return keys.names;
}

std::string key_that_takes(const std::string& text, const std::function<void(Fields&)>& list) {
  KeyNames keys(text);
  list(keys);
  return keys.taker;
}

std::string key_ending_in(const std::string& word, const std::vector<std::string>& keys) {
  const auto depth = [](const std::string& key) { return std::count(key.begin(), key.end(), '.'); };
  const std::string ending = "." + word;
  std::string found;
  for (const std::string& key : keys) {
    const bool ends = key == word || (key.size() > ending.size() &&
                                      key.compare(key.size() - ending.size(), ending.size(), ending) == 0);
    if (ends && (found.empty() || depth(key) < depth(found))) found = key;
  }
  return found;
}

std::vector<std::string> names_here(std::string_view word) {
  std::string elsewhere(word);
  std::replace(elsewhere.begin(), elsewhere.end(), '-', '_');
  std::vector<std::string> names;
  for (const Synonym& synonym : synonyms)
    if (synonym.elsewhere == elsewhere) names.emplace_back(synonym.here);
  return names;
}

std::vector<std::string> meant(std::string_view word, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names_here(word))
    if (includes(names, name)) found.push_back(name);
  if (std::string guess = nearest(word, names); found.empty() && !guess.empty()) found.push_back(std::move(guess));
  return found;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string> found = meant(word, names);
  return found.empty() ? "" : fmt::format("; did you mean '{}'?", fmt::join(found, "' and '"));
}

KeyValue value_of_key(const std::string& path, const std::string& text, const std::function<void(Fields&)>& list) {
  ValueAtPath value(path, text);
  list(value);
  return std::move(value.found);
}

}  // namespace surd
