#include "autograd/blas.hpp"
#include "data/lines.hpp"
#include "experiments/commands.hpp"
#include "experiments/console.hpp"
#include "experiments/run_folder.hpp"
#include "train/decoding.hpp"
#include "train/evaluation.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> read_lines(const std::string& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

void expect_fits(const OpenRun& run, const std::string& where, std::size_t positions) {
  expect(positions <= run.model.transformer().max_length(), where,
         "{} tokens are more than the model's longest sequence of {}", positions, run.model.transformer().max_length());
}

/// Translations of the lines, in their order; `first_line` is the number of the first, for messages.
std::vector<Hypothesis> translate(const OpenRun& run, const std::vector<std::string>& lines, std::size_t first_line,
                                  DecodingOptions options, const std::optional<std::size_t>& max_length) {
  std::vector<std::vector<TokenId>> sources;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    sources.push_back(run.codec.encode_source(lines[i]));
    expect_fits(run, fmt::format("line {}", first_line + i), sources.back().size());
    longest = std::max(longest, sources.back().size());
  }
  // Twice the source and some more is longer than any translation worth having.
  options.max_length = std::min(max_length.value_or(2 * longest + 20), run.model.transformer().max_length());
  return decode(run.model.transformer(), sources, options);
}

}  // namespace

int eval_command(const EvalArguments& arguments) {
  blas::initialize();
  OpenRun run(arguments.run, arguments.checkpoint);
  const Dataset dataset(run.config.task.make()->load(run.config.seed), run.codec);
  const Evaluation result = evaluate(run.model.transformer(), dataset.split(arguments.split), EvaluationOptions{});
  const Json json{{"split", arguments.split},
                  {"checkpoint", arguments.checkpoint},
                  {"pairs", result.pairs},
                  {"target_tokens", result.target_tokens},
                  {"loss", result.loss},
                  {"perplexity", result.perplexity},
                  {"token_accuracy", result.token_accuracy},
                  {"sequence_accuracy", result.sequence_accuracy}};
  if (arguments.json) {
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{} pairs of {} ({} checkpoint): loss {:.4f}, perplexity {:.3f}, tokens {:.2f} %, sequences {:.2f} %\n",
               result.pairs, arguments.split, arguments.checkpoint, result.loss, result.perplexity,
               100 * result.token_accuracy, 100 * result.sequence_accuracy);
  }
  return exit_done;
}

int translate_command(const TranslateArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  DecodingOptions options;
  options.beam = arguments.beam;
  options.length_penalty = arguments.length_penalty;
  // A person who types wants each answer at once.
  const std::size_t batch_size = isatty(STDIN_FILENO) == 1 ? 1 : arguments.batch_size;
  std::size_t done = 0;
  std::vector<std::string> lines;
  const auto flush = [&] {
    if (lines.empty()) return;
    for (const Hypothesis& hypothesis : translate(run, lines, done + 1, options, arguments.max_length))
      fmt::print("{}\n", run.codec.decode_target(hypothesis.tokens));
    std::fflush(stdout);
    done += lines.size();
    lines.clear();
  };
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
    if (lines.size() == batch_size) flush();
  }
  flush();
  return exit_done;
}

int score_command(const ScoreArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  const auto sources = read_lines(arguments.source), targets = read_lines(arguments.target);
  expect(sources.size() == targets.size(), "score", "{} has {} lines, {} has {}; they must be parallel",
         arguments.source, sources.size(), arguments.target, targets.size());
  if (sources.empty()) return exit_done;
  std::vector<SentencePair> pairs;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    pairs.push_back({run.codec.encode_source(sources[i]), run.codec.encode_target(targets[i])});
    expect_fits(run, fmt::format("line {}", i + 1), std::max(pairs[i].source.size(), pairs[i].target.size() + 1));
  }
  const auto scores = score(run.model.transformer(), pairs, 64);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Json tokens = Json::array();
    for (const TokenId id : pairs[i].target) tokens.push_back(run.codec.target_vocabulary().token(id));
    tokens.push_back(run.codec.target_vocabulary().token(Vocabulary::eos));
    double total = 0;
    for (const double log_probability : scores[i]) total += log_probability;
    fmt::print("{}\n", Json{{"tokens", tokens}, {"log_probs", scores[i]}, {"total", total}}.dump());
  }
  return exit_done;
}

int samples_command(const SamplesArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  const Corpus corpus = run.config.task.make()->load(run.config.seed);
  const auto& pairs = corpus.split(arguments.split).pairs;
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < std::min(arguments.count, pairs.size()); ++i) sources.push_back(pairs[i].source);
  const auto hypotheses = translate(run, sources, 1, {}, std::nullopt);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string translation = run.codec.decode_target(hypotheses[i].tokens);
    // The reference as the codec writes it, so that word pieces are joined on both sides.
    const std::string reference = run.codec.decode_target(run.codec.encode_target(pairs[i].target));
    const bool right = translation == reference;
    fmt::print("source       {}\ntranslation  {}  {}\nreference    {}\n\n",
               run.codec.decode_source(run.codec.encode_source(sources[i])), translation,
               styled(right ? "✓" : "✗", right ? Console::Style::green : Console::Style::red, STDOUT_FILENO),
               reference);
  }
  return exit_done;
}

}  // namespace surd
