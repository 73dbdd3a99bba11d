#include "autograd/blas.hpp"
#include "data/lines.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/commands/sentences.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/usage_error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

struct ScoreArguments : RunArguments {
  std::string source;
  std::string target;

  void fields(Fields& f) {
    RunArguments::fields(f);
    f("source", source, "source lines", Unit{"file"});
    f("target", target,
      "target lines; \"unknown\" lists the places, from 0, of tokens that the vocabulary lacks: what is given of "
      "them is the log-probability of the unknown token",
      Unit{"file"});
  }
};

int score_command(const ScoreArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  const auto sources = read_lines(arguments.source), targets = read_lines(arguments.target);
  expect_usage(sources.size() == targets.size(), "score", "{} has {} lines, {} has {}; they must be parallel",
               arguments.source, sources.size(), arguments.target, targets.size());
  if (sources.empty()) return exit_done;
  std::vector<SentencePair> pairs;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    pairs.push_back(run.codec.encode({sources[i], targets[i]}));
    expect_fits(run, fmt::format("{}:{}", arguments.source, i + 1), pairs[i].source.size());
    expect_fits(run, fmt::format("{}:{}", arguments.target, i + 1), pairs[i].target.size() + 1);
  }
  const auto scores = score(run.model.transformer(), pairs, evaluation_batch_size);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Json tokens = run.codec.target_tokens(targets[i]), unknown = Json::array();
    tokens.push_back(run.codec.target_vocabulary().token(Vocabulary::eos));
    for (std::size_t t = 0; t < pairs[i].target.size(); ++t)
      if (pairs[i].target[t] == Vocabulary::unk) unknown.push_back(t);
    double total = 0;
    for (const double log_probability : scores[i]) total += log_probability;
    fmt::print("{}\n",
               Json{{"tokens", tokens}, {"unknown", unknown}, {"log_probs", scores[i]}, {"total", total}}.dump());
  }
  return exit_done;
}

}  // namespace

void add_score(CommandTable& table) {
  table.add("score", "Log-probabilities of given translations, in nats", {"run", "--source", "--target"},
            score_command);
}

}  // namespace surd
