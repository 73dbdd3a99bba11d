#include "autograd/base/counted.hpp"
#include "autograd/blas.hpp"
#include "data/batch.hpp"
#include "data/lines.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/sentences.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/usage_error.hpp"
#include "train/evaluation.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

struct ScoreArguments : RunArguments {
  std::string source;
  std::string target;

  void fields(Fields& f) {
    RunArguments::fields(f);
    f("source", source,
      "source lines; without files, each line of standard input is a source, a tab and its translation, or, of a run "
      "of texts alone, a text",
      Unit{"file"});
    f("target", target,
      "target lines, as surd translate writes them, or texts; \"unknown\" lists the places, from 0, of tokens that the "
      "vocabulary lacks: what is given of them is the log-probability of the unknown token",
      Unit{"file"});
    f.rule(source.empty() || !target.empty(), "target", "goes together with --source; give both, or neither");
  }
};

/// Pairs that wait to be scored together.
class Scorer {
 public:
  explicit Scorer(const OpenRun& run) : run_(run) {}

  /// The places are those of the two lines, for messages. Throws Error where the model has no place for a line.
  void add(const std::string& source, const std::string& source_place, const std::string& target,
           const std::string& target_place) {
    const TextCodec& codec = run_.codec;
    const std::vector<std::string> from = codec.source_tokens_of_text(source);
    std::vector<TokenId> source_ids = codec.source_vocabulary().ids(from);
    source_ids.push_back(Vocabulary::eos);
    expect_fits(run_, source_place, source_ids.size());
    unknown_.add(from, codec.source_vocabulary());
    const bool together = !run_.model.transformer().has_encoder() && source_place != target_place;
    add(std::move(source_ids), target, together ? source_place + " and " + target_place : target_place);
  }
  /// A text without a source.
  void add(const std::string& text, const std::string& place) { add(std::vector<TokenId>(), text, place); }
  std::size_t waiting() const { return pairs_.size(); }

  /// Prints a JSON object for each of them.
  void flush() {
    const std::vector<SentencePair> pairs = std::exchange(pairs_, {});
    const std::vector<std::vector<std::string>> targets = std::exchange(targets_, {});
    if (pairs.empty()) return;
    const auto scores = score(run_.model.transformer(), pairs, evaluation_batch_size);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      Json tokens = targets[i], unknown = Json::array();
      tokens.push_back(run_.codec.target_vocabulary().token(Vocabulary::eos));
      for (std::size_t t = 0; t < pairs[i].target.size(); ++t)
        if (pairs[i].target[t] == Vocabulary::unk) unknown.push_back(t);
      double total = 0;
      for (const double log_probability : scores[i]) total += log_probability;
      fmt::print("{}\n",
                 Json{{"tokens", tokens}, {"unknown", unknown}, {"log_probs", scores[i]}, {"total", total}}.dump());
    }
    flush_stdout();
  }

  /// Tells of words that the vocabularies lack.
  void report() const { unknown_.report(); }

 private:
  void add(std::vector<TokenId> source, const std::string& target, const std::string& place) {
    std::vector<std::string> tokens = run_.codec.target_tokens_of_text(target);
    SentencePair pair{std::move(source), run_.codec.target_vocabulary().ids(tokens)};
    expect_fits(run_, place, run_.model.transformer().sequence_length(pair.source.size(), pair.target.size() + 1));
    unknown_.add(tokens, run_.codec.target_vocabulary());
    pairs_.push_back(std::move(pair));
    targets_.push_back(std::move(tokens));
  }

  const OpenRun& run_;
  std::vector<SentencePair> pairs_;
  std::vector<std::vector<std::string>> targets_;  // their tokens
  UnknownTokens unknown_;
};

void score_file(const std::string& path, Scorer& scorer) {
  const auto texts = read_lines(path);
  for (std::size_t i = 0; i < texts.size(); ++i) scorer.add(texts[i], fmt::format("{}:{}", path, i + 1));
  scorer.flush();
}

void score_parallel_files(const ScoreArguments& arguments, Scorer& scorer) {
  const auto sources = read_lines(arguments.source), targets = read_lines(arguments.target);
  expect_usage(sources.size() == targets.size(), "score", "{} has {}, {} has {}; they must be parallel",
               arguments.source, counted(sources.size(), "line"), arguments.target, counted(targets.size(), "line"));
  for (std::size_t i = 0; i < sources.size(); ++i)
    scorer.add(sources[i], fmt::format("{}:{}", arguments.source, i + 1), targets[i],
               fmt::format("{}:{}", arguments.target, i + 1));
  scorer.flush();
}

void score_standard_input(bool texts, Scorer& scorer) {
  const std::size_t together = lines_are_typed() ? 1 : 16 * evaluation_batch_size;
  std::size_t number = 0;
  try {
    for (std::string line; next_line(line, ++number);) {
      const std::string place = fmt::format("standard input:{}", number);
      const std::size_t tab = line.find('\t');
      expect(texts || tab != std::string::npos, place,
             "has no tab between a source and its translation; put one there");
      expect(
          texts || line.find('\t', tab + 1) == std::string::npos, place,
          "has more than one tab; a line is a source, a tab and its translation: take two columns, e.g. by cut -f1,2");
      if (texts)
        scorer.add(line, place);
      else
        scorer.add(line.substr(0, tab), place, line.substr(tab + 1), place);
      if (scorer.waiting() == together) scorer.flush();
    }
  } catch (const Error&) {
    scorer.flush();  // the lines before the bad one are scored first
    throw;
  }
  scorer.flush();
}

int score_command(const ScoreArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  const bool texts = run.codec.one_sided();
  expect_usage(!texts || arguments.source.empty(), "--source", "{} is of texts alone; give --target", arguments.run);
  expect_usage(texts || arguments.source.empty() == arguments.target.empty(), "--target",
               "goes together with --source; give both, or neither");
  Scorer scorer(run);
  if (arguments.target.empty())
    score_standard_input(texts, scorer);
  else if (texts)
    score_file(arguments.target, scorer);
  else
    score_parallel_files(arguments, scorer);
  scorer.report();
  return exit_done;
}

}  // namespace

void add_score(CommandTable& table) {
  table.add("score", "Log-probabilities of given translations or texts, in nats", {"run"}, score_command);
}

}  // namespace surd
