#include "train/sampling.hpp"

#include "autograd/base/utf8.hpp"
#include "autograd/blas.hpp"
#include "experiments/command_line/command.hpp"
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
    f("prompt", prompt, "what each text begins with; where tokens are words, blanks at its end do not count",
      Unit{"text"});
    f("count", count,
      "how many texts, none of which has an unknown token; more of them do not change the first, but for rounding",
      between(1, 1e6));
    f("temperature", temperature, "logits are divided by it; 0: always the likeliest token", between(0, 1000));
    f("top_k", top_k, "draw from so many likeliest tokens [all]", at_least(1), Unit{"tokens"});
    f("top_p", top_p,
      "draw from the fewest likeliest tokens that together have this probability, of those that --top-k leaves",
      Range{0, 1, false, true});
    f("max_length", max_length,
      "a text is cut after so many tokens behind the prompt, its end counted [as long as the model has place, and at "
      "most as long as the texts of the task]",
      between(1, 1e6), Unit{"tokens"});
    f("seed", seed, "of the draws: the same seed writes the same texts");
    f("json", json,
      "print a JSON object for each text: text, tokens behind the prompt, their log_probability under the model "
      "itself (nats, the end counted), and whether it is finished, not cut");
  }

  SamplingArguments sampling(const TextFormat& format) const {
    SamplingArguments how{seed, temperature, top_k, top_p};
    constexpr std::size_t otherwise = 1024;
    how.max_length = max_length.value_or(format.max_length.value_or(otherwise) + 1);
    return how;
  }
};

/// The words of the prompt are printed as they were given, even where the vocabulary lacks them.
void print(const SampledText& text, const std::vector<std::string>& prompt, const OpenRun& run, bool json) {
  std::vector<std::string> tokens;
  for (const TokenId id : text.tokens) tokens.push_back(run.codec.target_vocabulary().token(id));
  std::vector<std::string> whole = prompt;
  whole.insert(whole.end(), tokens.begin(), tokens.end());
  const std::string line = run.codec.target_text(whole);
  if (!json) {
    fmt::print("{}\n", line);
    return;
  }
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
  expect_usage(!find_invalid_utf8(arguments.prompt), "--prompt", "is not UTF-8");
  const std::vector<std::string> tokens = as_usage([&] { return run.codec.target_tokens_of_text(arguments.prompt); });
  const Transformer& model = run.model.transformer();
  expect_usage(tokens.size() < model.max_length(), "--prompt",
               "{} tokens; the model has place for {}, and one to write", tokens.size(), model.max_length() - 1);
  const SamplingArguments how = arguments.sampling(run.config.task.make()->format());
  const std::vector<TokenId> prompt = run.codec.target_vocabulary().ids(tokens);
  for (std::size_t first = 0; first < arguments.count; first += evaluation_batch_size) {
    const std::size_t count = std::min(evaluation_batch_size, arguments.count - first);
    for (const SampledText& text : sample(model, prompt, first, count, how)) print(text, tokens, run, arguments.json);
    flush_stdout();
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
