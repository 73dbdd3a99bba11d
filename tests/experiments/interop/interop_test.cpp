#include "data/lines.hpp"
#include "tests/experiments/commands/trained_run.hpp"
#include "train/storage/files.hpp"
#include "train/storage/safetensors.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <sstream>

using namespace surd;
using namespace surd::test;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A run of real text in pieces, and the sentences to score with it.
struct PiecesRun {
  TemporaryDirectory folder;
  std::string path = folder.path("run");
  std::string source = folder.write("source", lines({"a dog runs", "a cat sleeps", "two dogs", "the cat runs home"}));
  std::string target = folder.write("target", lines({"ein hund rennt", "eine katze", "zwei hunde", "heim"}));

  explicit PiecesRun(const std::string& settings = "", bool shared = true) {
    const std::string config = folder.write(
        "pieces.yaml",
        fmt::format("task: {{name: parallel_text, subwords: {{kind: bpe, size: 40}}, shared_vocabulary: {}{}}}\n"
                    "model:\n"
                    "  d_model: 16\n  heads: 4\n  encoder_layers: 2\n  decoder_layers: 2\n"
                    "  norm: {{placement: post}}\n  embedding: {{tie: {}}}\n  feed_forward: {{width: 24}}\n"
                    "train: {{updates: 30, batch_size: 4, evaluate_every: 15}}\noptimizer: {{learning_rate: 0.01}}\n"
                    "schedule: {{name: constant}}\n",
                    shared, all_splits(source, target), shared ? "all" : "decoder"));
    const Outcome trained = program("train " + config + settings + " --out " + path);
    CAPTURE(trained.output);
    REQUIRE(trained.exit_code == 0);
  }

  static std::string lines(const std::vector<std::string>& texts) {
    return fmt::format("{}\n", fmt::join(texts, "\n"));
  }

  /// The log-probabilities that a run gives the targets.
  std::vector<double> scores(const std::string& run) const {
    const Outcome scored = program("score " + run + " --source " + source + " --target " + target);
    CAPTURE(scored.output);
    REQUIRE(scored.exit_code == 0);
    std::vector<double> all;
    std::istringstream text(scored.output);
    for (std::string line; std::getline(text, line);) {
      const Json scored_line = Json::parse(line);
      for (const double score : scored_line["log_probs"]) all.push_back(score);
    }
    REQUIRE(all.size() > 10);
    return all;
  }
  std::string exported(const std::string& format, const std::string& name) const {
    const std::string out = folder.path(name);
    const Outcome outcome = program("export " + path + " --format " + format + " --out " + out);
    CAPTURE(outcome.output);
    REQUIRE(outcome.exit_code == 0);
    return out;
  }
  std::string imported(const std::string& from, const std::string& name) const {
    const std::string out = folder.path(name);
    const Outcome outcome = program("import " + from + " --out " + out);
    CAPTURE(outcome.output);
    REQUIRE(outcome.exit_code == 0);
    return out;
  }
};

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("a model in one file is imported to the same bits") {
  for (const char* settings : {"", " --set model.embedding.scale='learned sqrt_dim' --set model.norm.placement=pre"}) {
    const PiecesRun run(settings);
    const std::string file = run.exported("safetensors", "model.safetensors");
    const TensorFile read = read_safetensors(file);
    CHECK(read.metadata.count("surd_config") == 1);
    CHECK(read.metadata.at("surd_version") == "0.1.0");
    for (const auto& [name, tensor] : read.tensors) CHECK(name.rfind("optimizer.", 0) != 0);
    const std::string again = run.imported(file, "again");
    CHECK(run.scores(again) == run.scores(run.path));
    CHECK(read_file(again + "/vocabulary/source.model") == read_file(run.path + "/vocabulary/source.model"));
    CHECK(contains(program("import " + file + " --out " + again).output, "exists already; name another folder"));
    const std::string curves = " --out " + run.folder.path("curves.svg"), log = " --format csv";
    for (const std::string& command : {"plot " + again + curves, "export " + again + log, "compare " + again})
      CHECK(contains(program(command).output, again + ": was imported, so it has no log of a training and no results"));
    const std::string begin = "train " + again + "/config.yaml --from " + again + " --out ";
    CHECK(contains(program("train " + again + "/config.yaml --resume --out " + again).output,
                   "surd " + begin + "FOLDER"));
    CHECK(program(begin + run.folder.path("gone-on") + " --set train.updates=1").exit_code == 0);
  }
}

TEST_CASE("a model in Marian's form has the same log-probabilities, whatever its factors") {
  struct Case {
    std::string settings;
    bool shared;
  };
  const Case cases[] = {
      {"", true},
      {"", false},
      {" --set model.embedding.scale=one --set model.attention.scale=one", true},
      {" --set model.embedding.scale=3 --set model.embedding.logit_scale=inv_sqrt_dim", true},
      {" --set model.embedding.tie=none --set model.embedding.logit_scale=2 --set model.embedding.scale=0.5", false},
      {" --set model.embedding.scale='learned sqrt_dim' --set model.embedding.logit_scale='learned one'", false},
      {" --set model.attention.scale='learned inv_dim' --set model.attention.bias=false", true},
      {" --set model.attention.name=multi_query --set model.attention.key_value_heads=2", true},
      {" --set model.attention.absorb_scale=true --set model.embedding.output_bias=true", false},
      {" --set model.positions.scale=0.3 --set model.positions.offset=2", true},
      {" --set model.positions.kind=learned --set model.positions.shared=false", false},
      {" --set model.positions.kind=none --set model.feed_forward.activation=gelu", true},
  };
  for (const auto& [settings, shared] : cases) {
    CAPTURE(settings);
    CAPTURE(shared);
    const PiecesRun run(settings, shared);
    const std::string folder = run.exported("marian", "marian");
    const Json config = Json::parse(read_file(folder + "/config.json"));
    CHECK(config["share_encoder_decoder_embeddings"] == shared);
    CHECK(fs::exists(folder + "/target_vocab.json") != shared);
    const std::string again = run.imported(folder, "again");
    CHECK(largest_difference(run.scores(again), run.scores(run.path)) < 1e-4);
    CHECK(read_file(again + "/vocabulary/source.txt").size() >= read_file(run.path + "/vocabulary/source.txt").size());
  }
}

TEST_CASE("a decoder that starts with the padding token gets a first token of its own") {
  const PiecesRun run;
  const std::string folder = run.exported("marian", "marian");
  auto config = Json::parse(read_file(folder + "/config.json"));
  config["decoder_start_token_id"] = config["pad_token_id"];
  write_file_atomically(folder + "/config.json", config.dump());
  const std::string again = run.imported(folder, "again");
  // What was the first token has no name any more, and the one that is now has the padding's row and no share.
  CHECK(contains(read_file(again + "/vocabulary/source.txt"), "<unused-1>\n"));
  const TensorFile file = read_safetensors(again + "/checkpoints/best.safetensors");
  const Tensor& table = file.tensors.at("target_embedding.weight");
  for (std::size_t j = 0; j < 16; ++j) CHECK(table(0, j) == table(1, j));
  CHECK(file.tensors.at("output.bias")(1) == Real(-100));
  CHECK(largest_difference(run.scores(again), run.scores(run.path)) > 1e-3);
}

TEST_CASE("what Marian's architecture lacks is told, all of it") {
  const PiecesRun run(
      " --set model.norm.placement=pre --set model.norm.epsilon=1e-6 --set model.attention.query_key_norm=rms_norm "
      "--set model.embedding.norm=true");
  const Outcome outcome = program("export " + run.path + " --format marian --out " + run.folder.path("x"));
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 2);
  for (const char* key :
       {"norm.placement: pre", "norm.epsilon: 1e-06", "attention.query_key_norm: rms_norm", "embedding.norm: true"})
    CHECK(contains(outcome.output, std::string("model.") + key + " ("));
  CHECK_FALSE(fs::exists(run.folder.path("x")));
}

TEST_CASE("models that cannot be imported are told with a way out, and leave nothing") {
  const PiecesRun run;
  const std::string folder = run.exported("marian", "marian"), out = run.folder.path("out");
  const auto fails = [&](const std::string& from, const std::string& problem) {
    const Outcome outcome = program("import " + from + " --out " + out);
    CAPTURE(outcome.output);
    CHECK((outcome.exit_code == 1 || outcome.exit_code == 2));
    CHECK(contains(outcome.output, problem));
    CHECK_FALSE(fs::exists(out));
    for (const auto& entry : fs::directory_iterator(run.folder.path("")))
      CHECK_FALSE(contains(entry.path().string(), "importing"));
  };
  const std::string config = folder + "/config.json", text = read_file(config);
  const auto with = [&](const std::string& key, const Json& value, const std::string& problem) {
    auto json = Json::parse(text);
    json[key] = value;
    write_file_atomically(config, json.dump());
    fails(folder, problem);
    write_file_atomically(config, text);
  };
  with("model_type", "bart", "'model_type' is not marian");
  with("d_model", 24, "'model.encoder.embed_positions.weight' has shape [512, 16], config.json says [512, 24]");
  with("encoder_layers", 1, "'model.encoder.layers.1.fc1.bias' is no tensor of the model that config.json describes");
  with("encoder_layers", 3, "has no tensor 'model.encoder.layers.2.self_attn.q_proj.weight'");
  with("decoder_attention_heads", 2, "encoder and decoder differ in heads or width");
  with("activation_function", "mish", "'activation_function' is mish; surd has linear, relu");
  with("vocab_size", 5, "is not below the 5 of config.json");
  with("eos_token_id", 1, "two of the special tokens of config.json are one");
  with("max_position_embeddings", 0, "'max_position_embeddings' is 0");
  with("d_model", -1, "'d_model'");
  auto settings = Json::parse(text).at("surd");
  settings["config"] = "extends: /etc/passwd\n";
  with("surd", settings, "config.json: surd.config: extends another file; it must be whole");
  const auto without = [&](const char* name, const std::string& problem) {
    const std::string path = folder + "/" + name, bytes = read_file(path);
    fs::remove(path);
    fails(folder, problem);
    write_file_atomically(path, bytes.substr(0, bytes.size() / 2));
    fails(folder, name);
    write_file_atomically(path, bytes);
  };
  without("config.json", "has no config.json");
  without("model.safetensors", "has no model.safetensors; load it in Python");
  without("vocab.json", "has no vocab.json");
  without("target.spm", "has no target.spm");
  without("source.spm", "has no source.spm");
  const std::string vocabulary = folder + "/vocab.json", tokens = read_file(vocabulary);
  auto with_white_space = Json::parse(tokens);
  const Json last_id = with_white_space.back();
  with_white_space.erase(std::prev(with_white_space.end()));
  with_white_space["a dog"] = last_id;
  write_file_atomically(vocabulary, with_white_space.dump());
  fails(folder, "vocab.json: the token \"a dog\" holds white space");
  write_file_atomically(vocabulary, tokens);
  const std::string model = run.exported("safetensors", "model.safetensors"), whole = read_file(model);
  const auto without_checksum = [](std::string file) {
    file.replace(file.find("checksum"), 8, "was_good");
    return file.replace(file.find("xxh3-"), 5, "none-");
  };
  std::string building_upon = whole;  // of the same length
  building_upon.replace(building_upon.find("schedule:"), 9, "extends: ");
  write_file_atomically(model, without_checksum(building_upon));
  fails(model, "surd_config: extends another file; it must be whole");
  const std::string broken = without_checksum(whole.substr(0, whole.size() - 4) + "\xff\xff\xff\xff");  // a NaN
  write_file_atomically(model, broken);
  fails(model, "holds a NaN or an infinity");
  fails(run.folder.path("nowhere"), "is not there");
  fails(run.path + "/checkpoints/best.safetensors", "has no 'surd_config' among its metadata");
  CHECK(contains(program("export " + run.path + " --format safetensors --out " + run.folder.path("model.bin")).output,
                 ".safetensors"));
  CHECK(contains(program("export " + run.path + " --format safetensors --out " + run.path).output,
                 "is there already; name another"));
}
