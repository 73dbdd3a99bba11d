#include "autograd/blas.hpp"
#include "experiments/command_line/command.hpp"
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

void print(const SentencePair& pair, const Translation& found, const TextCodec& codec, bool scores) {
  const bool right = found.finished && codec.is_right(pair, found.tokens);
  fmt::print("source       {}\ntranslation  {}  {}\n", codec.decode_source(pair.source),
             codec.decode_target(found.tokens),
             styled(right ? "✓" : "✗", right ? Console::Style::green : Console::Style::red, STDOUT_FILENO));
  if (scores)
    fmt::print("score        {}, log-probability {}\n", nats_text(found.score), nats_text(found.log_probability));
  fmt::print("reference    {}\n\n", codec.reference(pair));
}

int samples_command(const SamplesArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  expect_translates(run, arguments.run);
  const Corpus corpus = corpus_with(run, arguments.split);
  const Dataset dataset = while_waiting(waiting_for_data, [&] { return Dataset(corpus, run.codec); });
  const std::vector<SentencePair>& pairs = dataset.split(arguments.split);
  const std::size_t count = std::min(arguments.count, pairs.size());
  for (std::size_t first = 0; first < count; first += evaluation_batch_size) {
    std::vector<std::vector<TokenId>> sources;
    for (std::size_t i = first; i < std::min(first + evaluation_batch_size, count); ++i) {
      sources.push_back(pairs[i].source);
      const std::size_t length = run.model.transformer().sequence_length(pairs[i].source.size(), 1);
      if (length > run.model.transformer().max_length())
        expect_fits(run, quoted(pairs[i], corpus.split(arguments.split), run.codec), length);
    }
    const auto found = decode(run.model.transformer(), sources, translation_options(arguments, std::nullopt));
    for (std::size_t i = 0; i < found.size(); ++i) print(pairs[first + i], found[i], run.codec, arguments.scores);
    flush_stdout();
  }
  return exit_done;
}

}  // namespace

void add_samples(CommandTable& table) {
  table.add("samples", "Some translations of a split beside their references", {"run"}, samples_command);
}

}  // namespace surd
