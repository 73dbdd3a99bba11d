#include "autograd/blas.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/commands/sentences.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace surd {
namespace {

struct SamplesArguments : SearchArguments {
  std::string split = "test";
  std::size_t count = 5;
  bool scores = false;

  void fields(Fields& f) {
    SearchArguments::fields(f);
    f("split", split, "split to take them from: train, valid, test or another of the task", Unit{"name"});
    f("count", count, "how many", between(1, 1e6));
    f("scores", scores, "print the score and the log-probability of each translation, as surd translate --scores");
  }
};

int samples_command(const SamplesArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  expect_translates(run, arguments.run);
  const Corpus corpus = corpus_with(run, arguments.split);
  const auto& pairs = corpus.split(arguments.split).pairs;
  std::vector<SentencePair> encoded;
  std::vector<std::vector<TokenId>> sources;
  for (std::size_t i = 0; i < std::min(arguments.count, pairs.size()); ++i) {
    encoded.push_back(run.codec.encode(pairs[i]));
    sources.push_back(encoded[i].source);
    expect_fits(run, fmt::format("pair {}", i + 1), run.model.transformer().sequence_length(sources[i].size(), 1));
  }
  const auto hypotheses = decode(run.model.transformer(), sources, translation_options(arguments, std::nullopt));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const bool right = hypotheses[i].finished && run.codec.is_right(encoded[i], hypotheses[i].tokens);
    fmt::print("source       {}\ntranslation  {}  {}\n", run.codec.decode_source(sources[i]),
               run.codec.decode_target(hypotheses[i].tokens),
               styled(right ? "✓" : "✗", right ? Console::Style::green : Console::Style::red, STDOUT_FILENO));
    if (arguments.scores)
      fmt::print("score        {}, log-probability {}\n", nats_text(hypotheses[i].score),
                 nats_text(hypotheses[i].log_probability));
    fmt::print("reference    {}\n\n", run.codec.reference(encoded[i]));
  }
  return exit_done;
}

}  // namespace

void add_samples(CommandTable& table) {
  table.add("samples", "Some translations of a split beside their references", {"run"}, samples_command);
}

}  // namespace surd
