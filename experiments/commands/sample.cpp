#include "train/sampling.hpp"

#include "autograd/blas.hpp"
#include "data/text.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/commands/sentences.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/usage_error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace surd {
namespace {

struct SampleArguments : RunArguments {
  std::string prompt;
  std::size_t count = 5;
  double temperature = 1;
  std::optional<std::size_t> top_k;
  double top_p = 1;
  std::optional<std::size_t> max_length;
  std::size_t seed = 1;
  bool json = false;

  void fields(Fields& f) {
    RunArguments::fields(f);
    f("prompt", prompt, "what each text begins with", Unit{"text"});
    f("count", count, "how many texts; more of them do not change the first", between(1, 1e6));
    f("temperature", temperature, "logits are divided by it; 0: always the likeliest token", between(0, 1000));
    f("top_k", top_k, "draw from so many likeliest tokens [all]", at_least(1), Unit{"tokens"});
    f("top_p", top_p,
      "draw from the fewest likeliest tokens that together have this probability, of those that --top-k leaves",
      Range{0, 1, false, true});
    f("max_length", max_length,
      "a text is cut after so many tokens behind the prompt, its end counted [the model's longest sequence]",
      between(1, 1e6), Unit{"tokens"});
    f("seed", seed, "of the draws: the same seed writes the same texts");
    f("json", json,
      "print a JSON object for each text: text, tokens behind the prompt, their log_probability under the model "
      "itself (nats, the end counted), and whether it is finished, not cut");
  }

  SamplingArguments sampling() const {
    SamplingArguments how{seed, temperature, top_k, top_p};
    if (max_length) how.max_length = *max_length;
    return how;
  }
};

void print(const SampledText& text, const std::vector<TokenId>& prompt, const OpenRun& run, bool json) {
  std::vector<TokenId> whole = prompt;
  whole.insert(whole.end(), text.tokens.begin(), text.tokens.end());
  const std::string line = run.codec.decode_target(whole);
  if (!json) {
    fmt::print("{}\n", line);
    return;
  }
  std::vector<std::string> tokens;
  for (const TokenId id : text.tokens) tokens.push_back(run.codec.target_vocabulary().token(id));
  fmt::print(
      "{}\n",
      nlohmann::ordered_json{
          {"text", line}, {"tokens", tokens}, {"log_probability", text.log_probability}, {"finished", text.finished}}
          .dump());
}

int sample_command(const SampleArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  expect_usage(run.codec.one_sided(), arguments.run,
               "is of a task with sources, which it translates: surd translate, or surd samples for some of a split");
  const std::vector<std::string> tokens = as_usage([&] {
    expect_utf8(arguments.prompt);
    return run.codec.target_tokens_of_text(arguments.prompt);
  });
  expect_fits(run, "--prompt", tokens.size() + 1);
  const std::vector<TokenId> prompt = token_ids(tokens, run.codec.target_vocabulary());
  for (std::size_t first = 0; first < arguments.count; first += evaluation_batch_size) {
    const std::size_t count = std::min(evaluation_batch_size, arguments.count - first);
    for (const SampledText& text : sample(run.model.transformer(), prompt, first, count, arguments.sampling()))
      print(text, prompt, run, arguments.json);
    flush_output();
  }
  UnknownTokens unknown;
  unknown.add(tokens, run.codec.target_vocabulary());
  unknown.report();
  return exit_done;
}

}  // namespace

void add_sample(CommandTable& table) {
  table.add("sample", "Write texts as the model of a run of texts would", {"run"}, sample_command);
}

}  // namespace surd
