#include "autograd/blas.hpp"
#include "data/batch.hpp"
#include "data/lines.hpp"
#include "experiments/commands/command.hpp"
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
      "source lines; without files, each line of standard input is a source, a tab and its translation", Unit{"file"});
    f("target", target,
      "target lines, as surd translate writes them; \"unknown\" lists the places, from 0, of tokens that the "
      "vocabulary lacks: what is given of them is the log-probability of the unknown token",
      Unit{"file"});
    f.rule(source.empty() == target.empty(), "target", "goes together with --source; give both, or neither");
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
    std::vector<std::string> to = codec.target_tokens_of_text(target);
    SentencePair pair{token_ids(from, codec.source_vocabulary()), token_ids(to, codec.target_vocabulary())};
    pair.source.push_back(Vocabulary::eos);
    expect_fits(run_, source_place, pair.source.size());
    const Transformer& model = run_.model.transformer();
    expect_fits(run_, model.has_encoder() ? target_place : source_place + " and " + target_place,
                model.sequence_length(pair.source.size(), pair.target.size() + 1));
    unknown_.add(from, codec.source_vocabulary());
    unknown_.add(to, codec.target_vocabulary());
    pairs_.push_back(std::move(pair));
    targets_.push_back(std::move(to));
  }
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
    flush_output();
  }

  /// Tells of words that the vocabularies lack.
  void report() const { unknown_.report(); }

 private:
  const OpenRun& run_;
  std::vector<SentencePair> pairs_;
  std::vector<std::vector<std::string>> targets_;  // their tokens
  UnknownTokens unknown_;
};

void score_parallel_files(const ScoreArguments& arguments, Scorer& scorer) {
  const auto sources = read_lines(arguments.source), targets = read_lines(arguments.target);
  expect_usage(sources.size() == targets.size(), "score", "{} has {} lines, {} has {}; they must be parallel",
               arguments.source, sources.size(), arguments.target, targets.size());
  for (std::size_t i = 0; i < sources.size(); ++i)
    scorer.add(sources[i], fmt::format("{}:{}", arguments.source, i + 1), targets[i],
               fmt::format("{}:{}", arguments.target, i + 1));
  scorer.flush();
}

void score_standard_input(Scorer& scorer) {
  const std::size_t together = lines_are_typed() ? 1 : 16 * evaluation_batch_size;
  std::size_t number = 0;
  try {
    for (std::string line; next_line(line, ++number);) {
      const std::string place = fmt::format("standard input:{}", number);
      const std::size_t tab = line.find('\t');
      expect(tab != std::string::npos, place, "has no tab between a source and its translation; put one there");
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
  Scorer scorer(run);
  if (arguments.source.empty())
    score_standard_input(scorer);
  else
    score_parallel_files(arguments, scorer);
  scorer.report();
  return exit_done;
}

}  // namespace

void add_score(CommandTable& table) {
  table.add("score", "Log-probabilities of given translations, in nats", {"run"}, score_command);
}

}  // namespace surd
