#include "autograd/blas.hpp"
#include "data/lines.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_folder.hpp"
#include "train/decoding.hpp"
#include "train/evaluation.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <limits>
#include <utility>

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

/// Ids of a line, which stands at `where`.
std::vector<TokenId> encode(const OpenRun& run, const std::string& line, const std::string& where) {
  std::vector<TokenId> ids = run.codec.encode_source(line);
  expect_fits(run, where, ids.size());
  return ids;
}

/// Reads line `number` of standard input; false at its end. Throws Error where it cannot be read or is not UTF-8.
bool next_line(std::string& line, std::size_t number) {
  errno = 0;
  if (!std::getline(std::cin, line)) {
    const int reason = errno;
    expect(std::ferror(stdin) == 0, "standard input", "line {} cannot be read: {}", number, std::strerror(reason));
    return false;
  }
  if (number == 1 && line.rfind(byte_order_mark, 0) == 0) line.erase(0, byte_order_mark.size());
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (const auto invalid = find_invalid_utf8(line))
    throw Error(
        fmt::format("standard input:{}:{}: invalid UTF-8 (byte {:#04x}); convert the text, e.g. by iconv -t "
                    "UTF-8",
                    number, *invalid + 1, static_cast<unsigned char>(line[*invalid])));
  return true;
}

/// Options of a translation whose length a person did not limit: twice the source and some more.
DecodingOptions translation_options(const std::optional<std::size_t>& max_length) {
  DecodingOptions options;
  options.max_length = max_length.value_or(std::numeric_limits<std::size_t>::max());
  if (!max_length) options.max_length_factor = 2;
  return options;
}

}  // namespace

int eval_command(const EvalArguments& arguments) {
  blas::initialize();
  OpenRun run(arguments.run, arguments.checkpoint);
  const Dataset dataset(run.config.task.make()->load(run.config.seed), run.codec);
  const auto* pairs = as_usage([&] { return &dataset.split(arguments.split); });
  const Evaluation result = evaluate(run.model.transformer(), *pairs, EvaluationOptions{});
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
    fmt::print(
        "{} pairs of {}, checkpoint {}\n"
        "loss {:.4f}, perplexity {:.3f}, tokens {:.2f} %, sequences {:.2f} %\n",
        result.pairs, arguments.split, arguments.checkpoint, result.loss, result.perplexity,
        100 * result.token_accuracy, 100 * result.sequence_accuracy);
  }
  return exit_done;
}

int translate_command(const TranslateArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  DecodingOptions options = translation_options(arguments.max_length);
  options.beam = arguments.beam;
  options.length_penalty = arguments.length_penalty;
  // A person who types wants each answer at once.
  const std::size_t batch_size = isatty(STDIN_FILENO) == 1 ? 1 : arguments.batch_size;
  std::vector<std::vector<TokenId>> sources;
  std::vector<bool> blank;  // of each line since the last flush; the others are `sources`
  const auto flush = [&] {
    const auto hypotheses = decode(run.model.transformer(), std::exchange(sources, {}), options);
    std::size_t next = 0;
    for (const bool is_empty : std::exchange(blank, {}))
      fmt::print("{}\n", is_empty ? "" : run.codec.decode_target(hypotheses[next++].tokens));
    expect(std::fflush(stdout) == 0, "standard output", "cannot be written: {}", std::strerror(errno));
  };
  std::size_t number = 0;
  try {
    for (std::string line; next_line(line, ++number);) {
      // The model never saw a blank line; what it would make of one is no translation.
      if (!is_blank(line)) sources.push_back(encode(run, line, fmt::format("standard input:{}", number)));
      blank.push_back(is_blank(line));
      if (blank.size() == batch_size) flush();
    }
  } catch (const Error&) {
    flush();  // the lines before it are fine
    throw;
  }
  flush();
  return exit_done;
}

int score_command(const ScoreArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  const auto sources = read_lines(arguments.source), targets = read_lines(arguments.target);
  expect_usage(sources.size() == targets.size(), "score", "{} has {} lines, {} has {}; they must be parallel",
               arguments.source, sources.size(), arguments.target, targets.size());
  if (sources.empty()) return exit_done;
  std::vector<SentencePair> pairs;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    pairs.push_back({run.codec.encode_source(sources[i]), run.codec.encode_target(targets[i])});
    expect_fits(run, fmt::format("line {}", i + 1), std::max(pairs[i].source.size(), pairs[i].target.size() + 1));
  }
  const auto scores = score(run.model.transformer(), pairs, evaluation_batch_size);
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
  const auto& pairs = as_usage([&] { return &corpus.split(arguments.split); })->pairs;
  std::vector<std::vector<TokenId>> sources;
  for (std::size_t i = 0; i < std::min(arguments.count, pairs.size()); ++i)
    sources.push_back(encode(run, pairs[i].source, fmt::format("pair {}", i + 1)));
  const auto hypotheses = decode(run.model.transformer(), sources, translation_options(std::nullopt));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string translation = run.codec.decode_target(hypotheses[i].tokens);
    // The reference as the codec writes it, so that word pieces are joined on both sides.
    const std::string reference = run.codec.decode_target(run.codec.encode_target(pairs[i].target));
    const bool right = translation == reference;
    fmt::print(
        "source       {}\ntranslation  {}  {}\nreference    {}\n\n", run.codec.decode_source(sources[i]), translation,
        styled(right ? "✓" : "✗", right ? Console::Style::green : Console::Style::red, STDOUT_FILENO), reference);
  }
  return exit_done;
}

}  // namespace surd
