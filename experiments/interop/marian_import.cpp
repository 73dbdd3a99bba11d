#include "experiments/interop/marian_import.hpp"

#include "data/sentence_piece.hpp"
#include "data/tasks/parallel_text.hpp"
#include "experiments/interop/marian_config.hpp"
#include "experiments/program/usage_error.hpp"
#include "train/storage/files.hpp"
#include "train/storage/json_object.hpp"
#include "train/storage/safetensors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace surd::marian {
namespace {

constexpr const char* way_out = "import a folder that MarianMTModel.save_pretrained() wrote";
constexpr const char* unknown_file = "not-known";  ///< in place of the files of a task that nobody has named
constexpr std::size_t largest_vocabulary = Vocabulary::largest_size;

class Import {
 public:
  Import(std::string folder, std::vector<std::string> settings)
      : folder_(std::move(folder)),
        settings_(std::move(settings)),
        config_(read_file(expected("config.json")), folder_ + "/config.json", way_out) {
    config_.require(config_.has("model_type") && config_.text("model_type") == "marian",
                    "'model_type' is not marian, the only one that surd imports");
    const std::string weights = folder_ + "/model.safetensors";
    expect_usage(path_exists(weights), folder_,
                 "has no model.safetensors; load it in Python and save it anew by save_pretrained(FOLDER, "
                 "safe_serialization=True)");
    tensors_ = read_safetensors(weights).tensors;
  }

  ImportedRun run() {
    ImportedRun run;
    run.origin = folder_;
    read_vocabularies();
    run.config = read_config();
    run.vocabulary = {{"source.txt", source_.text}, {"target.txt", target_.text}};
    if (has_pieces()) {
      run.vocabulary["source.model"] = pieces("source.spm");
      run.vocabulary["target.model"] = pieces("target.spm");
    }
    add_embeddings(run.parameters);
    for (const auto& [ours, theirs] : modules(run.config.model.encoder_layers, run.config.model.decoder_layers))
      for (const char* name : {".weight", ".bias"}) run.parameters[ours + name] = tensor(theirs + name);
    if (!computed_positions_)
      for (const auto& [ours, theirs] : {std::pair("source", "encoder"), std::pair("target", "decoder")})
        run.parameters[std::string("positions.") + ours] = tensor(positions_name(theirs));
    expect_all_used();
    return run;
  }

 private:
  /// A vocabulary as surd writes it, and the row of each of its tokens in the folder's tables.
  struct Side {
    std::string text;
    std::vector<std::size_t> rows;
  };

  std::string expected(const char* name) const {
    std::string path = folder_ + "/" + name;
    expect_usage(path_exists(path), folder_, "has no {}; {}", name, way_out);
    return path;
  }
  /// The bytes of a model of SentencePiece.
  std::string pieces(const char* name) const {
    const std::string path = expected(name);
    std::string bytes = read_file(path);
    GivenModel({path}).load(bytes, path);  // throws where it is none
    return bytes;
  }
  /// Whether there is a model of either side; then both are needed.
  bool has_pieces() const { return path_exists(folder_ + "/source.spm") || path_exists(folder_ + "/target.spm"); }
  bool flag(const char* key, bool by_default) const { return config_.has(key) ? config_.truth(key) : by_default; }
  double number(const char* key, double by_default) const { return config_.has(key) ? config_.real(key) : by_default; }
  std::size_t id(const char* key) const { return config_.count(key); }

  const Tensor& tensor(const std::string& name) const {
    const auto found = tensors_.find(name);
    expect(found != tensors_.end(), folder_ + "/model.safetensors", "has no tensor '{}'; {}", name, way_out);
    used_.insert(name);
    return found->second;
  }
  /// Throws Error where the file has what the model of config.json has no place for. Second names of tied tables, and
  /// positions that the model computes, are no loss.
  void expect_all_used() const {
    for (const auto& [name, tensor] : tensors_) {
      const bool known = name == "final_logits_bias" || name == "lm_head.weight" || name == "model.shared.weight" ||
                         name.find(".embed_tokens.") != std::string::npos ||
                         name.find(".embed_positions.") != std::string::npos;
      expect(known || used_.count(name) > 0, folder_ + "/model.safetensors",
             "'{}' is no tensor of the model that config.json describes; {}", name, way_out);
    }
  }
  static std::string positions_name(const char* stack) { return fmt::format("model.{}.embed_positions.weight", stack); }

  bool shared_tables() const { return flag("share_encoder_decoder_embeddings", true); }
  bool starts_with_padding() const { return id("decoder_start_token_id") == id("pad_token_id"); }

  void read_vocabularies() {
    source_ = tokens_of(expected("vocab.json"), config_.count("vocab_size"));
    separate_ = path_exists(folder_ + "/target_vocab.json");
    config_.require(!(separate_ && shared_tables()),
                    "'share_encoder_decoder_embeddings' is true, and target_vocab.json is a vocabulary of its own");
    target_ = separate_ ? tokens_of(folder_ + "/target_vocab.json", config_.has("decoder_vocab_size")
                                                                        ? config_.count("decoder_vocab_size")
                                                                        : config_.count("vocab_size"))
                        : source_;
  }

  /// `rows`: of the table, which may be longer.
  Side tokens_of(const std::string& path, std::size_t rows) const {
    config_.require(rows <= largest_vocabulary, "'vocab_size' is {}; the most there can be is {}", rows,
                    largest_vocabulary);
    const nlohmann::json json = nlohmann::json::parse(read_file(path), nullptr, false);
    expect(json.is_object(), path, "is no JSON object of tokens and their ids; {}", way_out);
    std::vector<std::string> names(rows);
    for (const auto& [token, row] : json.items()) {
      expect(row.is_number_unsigned() && row.get<std::size_t>() < rows, path,
             "the id of '{}' is not below the {} of config.json; {}", token, rows, way_out);
      expect(names[row.get<std::size_t>()].empty(), path, "two tokens have the id {}; {}", row.get<std::size_t>(),
             way_out);
      expect(token.empty() || Vocabulary::can_hold(token), path,
             "the token {:?} holds white space, which separates tokens; {}", token, way_out);
      names[row.get<std::size_t>()] = token;
    }
    const auto row_of = [&](const char* token, const char* key) {
      const std::size_t row = key == nullptr ? json.value(token, rows) : id(key);
      expect(row < rows, path, "has no {}; {}", token, way_out);
      return row;
    };
    Side tokens;
    tokens.rows = {row_of("<pad>", "pad_token_id"), row_of("<s>", "decoder_start_token_id"),
                   row_of("</s>", "eos_token_id"), row_of("<unk>", nullptr)};
    tokens.text = Vocabulary().text();
    const std::set<std::size_t> specials(tokens.rows.begin(), tokens.rows.end());
    expect(specials.size() == (starts_with_padding() ? 3U : 4U), path,
           "two of the special tokens of config.json are one; {}", way_out);
    const Vocabulary reserved;  // names that no other token can have
    const auto is_free = [&](const std::string& name) {
      for (std::size_t i = 0; i < reserved.size(); ++i)
        if (reserved.token(static_cast<TokenId>(i)) == name) return false;
      return !name.empty();
    };
    for (std::size_t row = 0; row < rows; ++row) {
      if (specials.count(row) > 0) continue;
      tokens.text += (is_free(names[row]) ? names[row] : fmt::format("<unused-{}>", row)) + "\n";
      tokens.rows.push_back(row);
    }
    return tokens;
  }

  RunConfig read_config() {
    const std::string name = folder_ + "/config.json";
    YamlDocument document = YamlDocument::parse(surd_config(), name + ": surd.config");
    for (const std::string& setting : settings_) {
      expect_usage(setting.rfind("task.", 0) == 0, "--set " + setting, "is none of the task; the model is what it is");
      document.set(setting);
    }
    RunConfig config = ConfigFile(std::move(document)).config;
    TransformerOptions& model = config.model = TransformerOptions();
    model.d_model = config_.count("d_model");
    model.encoder_layers = config_.count("encoder_layers");
    model.decoder_layers = config_.count("decoder_layers");
    model.heads = config_.count("encoder_attention_heads");
    config_.require(model.heads == config_.count("decoder_attention_heads") &&
                        config_.count("encoder_ffn_dim") == config_.count("decoder_ffn_dim"),
                    "encoder and decoder differ in heads or width; surd has one number for both");
    model.dropout = number("dropout", 0);
    model.norm.placement = NormPlacement::post;
    model.norm.kind.set<LayerNorm>(layer_norm_name, {{norm_epsilon}});
    model.embedding.tie = !flag("tie_word_embeddings", true) ? Tie::none : shared_tables() ? Tie::all : Tie::decoder;
    config_.require(model.embedding.tie != Tie::none || !shared_tables(),
                    "the tables of both sides are one and the output another, which surd does not have");
    model.embedding.scale = flag("scale_embedding", false) ? Scale::Rule::sqrt_dim : Scale::Rule::one;
    model.embedding.output_bias = true;
    MultiHeadOptions attention;
    attention.dropout = number("attention_dropout", 0);
    model.attention.set<MultiHeadAttention>("multi_head", attention);
    PositionWiseOptions feed_forward;
    feed_forward.width = config_.count("encoder_ffn_dim");
    feed_forward.activation = activation_of(config_.text("activation_function"), name);
    feed_forward.dropout = number("activation_dropout", 0);
    model.feed_forward.set<PositionWiseFeedForward>("position_wise", feed_forward);
    read_positions(model);
    check_options(name, config);
    return config;
  }

  /// The settings of the run that was exported; otherwise those of a task whose files nobody knows.
  std::string surd_config() const {
    if (config_.has("surd")) {
      std::string text = config_.object("surd").text("config");
      expect_whole_config(text, folder_ + "/config.json: surd.config");
      return text;
    }
    ParallelTextOptions task;
    for (std::string* file : {&task.train_source, &task.train_target, &task.valid_source, &task.valid_target,
                              &task.test_source, &task.test_target})
      *file = unknown_file;
    task.shared_vocabulary = !separate_;
    if (has_pieces()) task.subwords.set<GivenModel>("sentencepiece", {folder_ + "/source.spm"});
    RunConfig config;
    config.task.set<ParallelTextTask>("parallel_text", task);
    return to_yaml(config);
  }

  void read_positions(TransformerOptions& model) {
    const std::size_t length = config_.count("max_position_embeddings");
    config_.require(length > 0, "'max_position_embeddings' is 0");
    SinusoidalOptions sinusoidal;
    sinusoidal.layout = SinusoidLayout::sin_then_cos;
    sinusoidal.max_length = length;
    model.positions.set<SinusoidalPositions>("sinusoidal", sinusoidal);
    computed_positions_ = is_computed("encoder", model, length) && is_computed("decoder", model, length);
    if (computed_positions_) return;
    LearnedPositionsOptions learned;
    learned.max_length = length;
    learned.shared = false;
    model.positions.set<LearnedPositions>("learned", learned);
  }

  /// Whether the table of a stack is not there, or what the model would compute.
  bool is_computed(const char* stack, const TransformerOptions& model, std::size_t length) const {
    const auto found = tensors_.find(positions_name(stack));
    if (found == tensors_.end()) return true;  // transformers leaves it out
    const Tensor& table = found->second;
    const Shape shape{length, model.d_model};
    expect(table.shape() == shape, folder_ + "/model.safetensors", "'{}' has shape {}, config.json says {}",
           found->first, table.shape(), shape);
    ParameterSet none;
    const auto layer = model.positions.make(Scope(none, 0) / "positions", model.d_model);
    TapeArguments arguments;
    arguments.record = false;
    Tape tape(arguments);
    const Tensor& own = (*layer)(tape, length).value();
    constexpr Real rounding = 1e-6F;
    return std::equal(table.begin(), table.end(), own.begin(),
                      [&](Real a, Real b) { return std::abs(a - b) <= rounding; });
  }

  /// The rows of a table in the order of surd's ids.
  Tensor in_our_order(const std::string& name, const Side& tokens) const {
    const Tensor& table = tensor(name);
    const std::size_t rows = 1 + *std::max_element(tokens.rows.begin(), tokens.rows.end());
    expect(table.dimension() == 2 && table.shape()[0] >= rows, folder_ + "/model.safetensors",
           "'{}' has shape {}, config.json says {} rows", name, table.shape(), rows);
    Tensor result(Shape{tokens.rows.size(), row_length(table)});
    for (std::size_t i = 0; i < tokens.rows.size(); ++i)
      std::copy_n(table.data() + tokens.rows[i] * row_length(table), row_length(table),
                  result.data() + i * row_length(table));
    return result;
  }

  void add_embeddings(std::map<std::string, Tensor>& parameters) const {
    if (shared_tables()) {
      parameters["target_embedding.weight"] = in_our_order("model.shared.weight", source_);
    } else {
      parameters["source_embedding.weight"] = in_our_order("model.encoder.embed_tokens.weight", source_);
      parameters["target_embedding.weight"] = in_our_order("model.decoder.embed_tokens.weight", target_);
    }
    if (!flag("tie_word_embeddings", true)) parameters["output.weight"] = in_our_order("lm_head.weight", target_);
    Tensor bias = zeros({target_.rows.size()});
    if (const auto theirs = tensors_.find("final_logits_bias"); theirs != tensors_.end())
      for (std::size_t i = 0; i < target_.rows.size(); ++i) {
        expect(target_.rows[i] < theirs->second.size(), folder_ + "/model.safetensors",
               "'final_logits_bias' has shape {}, too few for the vocabulary", theirs->second.shape());
        bias(i) = theirs->second.data()[target_.rows[i]];
      }
    if (starts_with_padding())
      bias(static_cast<std::size_t>(Vocabulary::bos)) = bias(static_cast<std::size_t>(Vocabulary::pad)) + never;
    parameters["output.bias"] = std::move(bias);
  }

  std::string folder_;
  std::vector<std::string> settings_;
  JsonObject config_;
  std::map<std::string, Tensor> tensors_;
  mutable std::set<std::string> used_;  // of these
  Side source_, target_;
  bool separate_ = false, computed_positions_ = true;
};

}  // namespace

ImportedRun import_model(const std::string& folder, const std::vector<std::string>& settings) {
  expect_usage(is_folder(folder), folder, "is no folder; {}", way_out);
  return Import(folder, settings).run();
}

}  // namespace surd::marian
