#include "tests/experiments/commands/trained_run.hpp"
#include "train/storage/files.hpp"
#include "train/storage/safetensors.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>

// What the folders of GPT-2 and Llama hold. That transformers computes the same with them is what transformers_test.py
// compares, where there is transformers.

using namespace surd;
using namespace surd::test;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// d = 8 in two heads, so that d_k = 4.
const std::string decoder = " --set model.kind=decoder_only";
const std::string llama = decoder +
                          " --set model.norm.kind=rms_norm --set model.positions.kind=none"
                          " --set model.attention.name=rotary --set model.feed_forward.name=gated";

struct Exported {
  TrainedRun run;
  std::string folder;
  TensorFile file;
  Json config;
  TensorFile own;

  Exported(const std::string& format, const std::string& settings)
      : run(settings),
        folder(run.folder.path(format)),
        file(read(format, folder)),
        config(Json::parse(read_file(folder + "/config.json"))),
        own(read("safetensors", run.folder.path("own.safetensors"))) {}

  const Tensor& there(const std::string& name) const { return file.tensors.at(name); }
  const Tensor& here(const std::string& name) const { return own.tensors.at(name); }

 private:
  TensorFile read(const std::string& format, const std::string& out) const {
    const Outcome outcome = program("export " + run.path + " --format " + format + " --out " + out);
    CAPTURE(outcome.output);
    REQUIRE(outcome.exit_code == 0);
    return read_safetensors(format == "safetensors" ? out : out + "/model.safetensors");
  }
};

std::string refused(const std::string& format, const std::string& settings) {
  const TrainedRun run(settings);
  const Outcome outcome = program("export " + run.path + " --format " + format + " --out " + run.folder.path("x"));
  CHECK(outcome.exit_code == 2);
  CHECK_FALSE(fs::exists(run.folder.path("x")));
  return outcome.output;
}

TEST_CASE("GPT-2's folder has its maps as [in, out], queries, keys and values side by side") {
  const Exported gpt2("gpt2", decoder +
                                  " --set model.attention.scale=one --set model.embedding.tie=none"
                                  " --set model.embedding.scale=3 --set model.embedding.logit_scale=0.5");
  const Tensor& together = gpt2.there("transformer.h.0.attn.c_attn.weight");
  REQUIRE(together.shape() == Shape{8, 24});
  CHECK(gpt2.there("transformer.h.0.attn.c_attn.bias").shape() == Shape{24});
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      const std::string path = "decoder.0.self_attention.";
      CHECK(together(i, j) == doctest::Approx(2 * gpt2.here(path + "query.weight")(j, i)));  // 1 over 1/sqrt(4)
      CHECK(together(i, 8 + j) == gpt2.here(path + "key.weight")(j, i));
      CHECK(together(i, 16 + j) == gpt2.here(path + "value.weight")(j, i));
      CHECK(gpt2.there("transformer.h.0.attn.c_proj.weight")(i, j) == gpt2.here(path + "output.weight")(j, i));
      CHECK(gpt2.there("transformer.h.0.mlp.c_fc.weight")(i, j) ==
            gpt2.here("decoder.0.feed_forward.inner.weight")(j, i));
      CHECK(gpt2.there("transformer.wte.weight")(i, j) ==
            doctest::Approx(3 * gpt2.here("target_embedding.weight")(i, j)));
      CHECK(gpt2.there("lm_head.weight")(i, j) == doctest::Approx(0.5 * gpt2.here("output.weight")(i, j)));
    }
  CHECK(gpt2.there("transformer.wpe.weight").shape() == Shape{512, 8});
  CHECK(gpt2.there("transformer.wpe.weight")(1, 0) == doctest::Approx(std::sin(1)));
  for (std::size_t j = 0; j < 8; ++j)
    CHECK(gpt2.there("transformer.ln_f.weight")(j) == gpt2.here("decoder.norm.weight")(j));
  CHECK(gpt2.config["model_type"] == "gpt2");
  CHECK(gpt2.config["n_inner"] == 8);
  CHECK(gpt2.config["activation_function"] == "relu");
  CHECK(gpt2.config["tie_word_embeddings"] == false);
  CHECK(gpt2.config["bos_token_id"] == 1);
  const Json ids = Json::parse(read_file(gpt2.folder + "/vocab.json"));
  CHECK(ids["<pad>"] == 0);
  CHECK(ids.size() == gpt2.config["vocab_size"]);
}

TEST_CASE("where embedding and output are one, their factors move into the last norm") {
  const Exported gpt2("gpt2", decoder +
                                  " --set model.embedding.tie=all --set model.embedding.scale=4"
                                  " --set model.embedding.logit_scale=0.5");
  CHECK(gpt2.file.tensors.count("lm_head.weight") == 0);
  for (std::size_t j = 0; j < 8; ++j) {
    CHECK(gpt2.there("transformer.wte.weight")(5, j) == 4 * gpt2.here("target_embedding.weight")(5, j));
    CHECK(gpt2.there("transformer.ln_f.weight")(j) == gpt2.here("decoder.norm.weight")(j) / 8);
    CHECK(gpt2.there("transformer.ln_f.bias")(j) == gpt2.here("decoder.norm.bias")(j) / 8);
  }
}

TEST_CASE("Llama's folder has the columns that are turned together half a head apart") {
  const Exported there("llama", llama +
                                    " --set model.attention.base=100 --set model.attention.key_value_heads=1"
                                    " --set model.attention.bias=false --set model.attention.scale=one");
  const std::size_t places[] = {0, 2, 1, 3, 4, 6, 5, 7};  // of columns 0 to 3 of two heads
  for (std::size_t row = 0; row < 8; ++row)
    for (std::size_t j = 0; j < 8; ++j) {
      CHECK(there.there("model.layers.0.self_attn.q_proj.weight")(places[row], j) ==
            2 * there.here("decoder.0.self_attention.query.weight")(row, j));
      if (row >= 4) continue;
      CHECK(there.there("model.layers.0.self_attn.k_proj.weight")(places[row], j) ==
            there.here("decoder.0.self_attention.key.weight")(row, j));
      CHECK(there.there("model.layers.0.self_attn.v_proj.weight")(row, j) ==
            there.here("decoder.0.self_attention.value.weight")(row, j));
    }
  CHECK(there.file.tensors.count("model.layers.0.self_attn.q_proj.bias") == 0);
  CHECK(there.config["num_key_value_heads"] == 1);
  CHECK(there.config["rope_parameters"]["rope_theta"] == 100);
  CHECK(there.config["attention_bias"] == false);
  CHECK(there.config["hidden_act"] == "sigmoid");
}

TEST_CASE("a bias that one projection has is zero in those that have none") {
  const Exported there("llama", llama + " --set 'model.attention.bias=query value'");
  for (std::size_t j = 0; j < 8; ++j) {
    CHECK(there.there("model.layers.0.self_attn.k_proj.bias")(j) == 0);
    CHECK(there.there("model.layers.0.self_attn.o_proj.bias")(j) == 0);
  }
  CHECK(there.config["attention_bias"] == true);
}

TEST_CASE("what the architectures of decoders lack is told, all of it") {
  const std::string both = refused("gpt2",
                                   " --set model.norm.placement=post --set model.embedding.output_bias=true"
                                   " --set model.embedding.norm=true --set model.norm.kind=rms_norm");
  for (const char* difference :
       {"GPT-2's architecture cannot express this model", "model.kind: encoder_decoder (there it is decoder_only)",
        "model.norm.placement: post (there it is pre)", "model.embedding.output_bias: true (there is none)",
        "model.embedding.norm: true (there is none)", "model.norm.kind: rms_norm (there it is layer_norm)"})
    CHECK(contains(both, difference));
  CHECK(
      contains(refused("gpt2", decoder + " --set model.norm.bias=false"), "model.norm.bias: false (there it is true)"));
  const std::string rotary = refused("gpt2", llama);
  CHECK(contains(rotary, "model.attention.name: rotary (there it is multi_head)"));
  CHECK(contains(rotary, "model.feed_forward.name: gated (there it is position_wise)"));
  const std::string plain = refused("llama", decoder);
  for (const char* difference :
       {"model.norm.kind: layer_norm (there it is rms_norm)", "model.positions.kind: sinusoidal (there it is none)",
        "model.attention.name: multi_head (there it is rotary)",
        "model.feed_forward.name: position_wise (there it is gated)"})
    CHECK(contains(plain, difference));
  CHECK(contains(refused("llama", llama + " --set model.attention.query_key_norm=l2"),
                 "model.attention.query_key_norm: l2 (there is none)"));
  const std::string capped =
      refused("llama", llama + " --set model.attention.score_cap=50 --set model.embedding.logit_cap=30");
  CHECK(contains(capped, "model.attention.score_cap: 50 (there is none)"));
  CHECK(contains(capped, "model.embedding.logit_cap: 30 (there is none)"));
}

}  // namespace
