#include "autograd/blas.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/metrics/score_files.hpp"
#include "experiments/commands/sentences.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/data/unknown_tokens.hpp"
#include "experiments/run/experiment.hpp"
#include "train/evaluation.hpp"
#include "train/metrics/chrf.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace surd {
namespace {

struct EvalArguments : SearchArguments {
  std::string split = "test";
  BleuTokenization tokenize = BleuTokenization::mteval_13a;
  bool json = false;

  void fields(Fields& f) {
    SearchArguments::fields(f);
    f("split", split, "train, valid, test or another split of the task", Unit{"name"});
    f("tokenize", tokenize, "what a word of BLEU is; see surd bleu", Unit{"name"});
    f("json", json, "print one JSON object");
  }
};

/// `lowercase`: whether translations and references are in lower case, as sacreBLEU's -lc makes them.
nlohmann::ordered_json to_json(const EvalArguments& arguments, const Evaluation& result, const Split& split,
                               std::size_t overlong, const UnknownShare& unknown, bool lowercase) {
  nlohmann::ordered_json json{{"split", arguments.split},
                              {"checkpoint", arguments.checkpoint},
                              {"pairs", result.pairs},
                              {"left_out", {{"empty", split.blank}, {"overlong", overlong}}},
                              {"target_tokens", result.target_tokens},
                              {"unknown", {{"source", unknown.source}, {"target", unknown.target}}},
                              {"loss", result.loss},
                              {"perplexity", result.perplexity},
                              {"token_accuracy", result.token_accuracy}};
  if (result.bits_per_byte) json["bits_per_byte"] = *result.bits_per_byte;
  if (result.decoded == 0) return json;
  json.update({{"beam", arguments.beam},
               {"length_penalty", arguments.length_penalty},
               {"normalization", name_of(arguments.normalization)},
               {"no_unknown", arguments.no_unknown},
               {"sequence_accuracy", result.sequence_accuracy},
               {"bleu", *result.bleu},
               {"bleu_signature", signature_of(Bleu(arguments.tokenize), lowercase)},
               {"chrf", *result.chrf},
               {"chrf_signature", signature_of(Chrf(0), lowercase)}});
  return json;
}

void print(const EvalArguments& arguments, const Evaluation& result, const std::string& left_out) {
  fmt::print("{} {} of {}{}, checkpoint {}\nloss {:.4f}, perplexity {:.3f}, tokens {:.2f} %", result.pairs,
             result.decoded > 0 ? "pairs" : "texts", arguments.split,
             left_out.empty() ? "" : fmt::format(" ({} left out)", left_out), arguments.checkpoint, result.loss,
             result.perplexity, 100 * result.token_accuracy);
  if (result.bits_per_byte) fmt::print(", bits a byte {:.4f}", *result.bits_per_byte);
  if (result.decoded == 0) {
    fmt::print("\n");
    return;
  }
  fmt::print(", sequences {:.2f} %\nof {} translations: BLEU {:.2f} (tok:{}), chrF2 {:.2f}\n",
             100 * result.sequence_accuracy, arguments.beam == 1 ? "greedy" : fmt::format("beam {}", arguments.beam),
             *result.bleu, name_of(arguments.tokenize), *result.chrf);
}

int eval_command(const EvalArguments& arguments) {
  blas::initialize();
  OpenRun run(arguments.run, arguments.checkpoint);
  const EvalArguments defaults;
  expect_usage(!run.codec.one_sided() ||
                   (arguments.beam == defaults.beam && arguments.length_penalty == defaults.length_penalty &&
                    arguments.normalization == defaults.normalization && !arguments.no_unknown &&
                    arguments.tokenize == defaults.tokenize),
               arguments.run, "is of texts alone, which are not translated: remove what says how");
  const Corpus corpus = corpus_with(run, arguments.split);
  const Dataset dataset = while_waiting(waiting_for_data, [&] { return Dataset(corpus, run.codec); });
  const std::vector<SentencePair>& pairs = dataset.split(arguments.split);
  for (const SentencePair& pair : pairs) {
    const std::size_t length = run.model.transformer().sequence_length(pair.source.size(), pair.target.size() + 1);
    if (length > run.model.transformer().max_length())
      expect_fits(run, fmt::format("{} of {}", quoted(pair, corpus.split(arguments.split), run.codec), arguments.split),
                  length);
  }
  const EvaluationArguments how{evaluation_batch_size, pairs.size(), arguments.tokenize, arguments.search()};
  const Evaluation result = evaluate(run.model.transformer(), pairs, dataset.codec, how);
  const UnknownShare unknown = unknown_share(pairs);
  const UnknownShares of_split = {{arguments.split, unknown}};
  const Split& split = corpus.split(arguments.split);
  const std::size_t overlong = dataset.splits.front().overlong;
  if (arguments.json)
    fmt::print("{}\n", to_json(arguments, result, split, overlong, unknown, corpus.lowercase)
                           .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    print(arguments, result, left_out_of(split, overlong));
  if (!arguments.json && worth_telling(of_split, corpus))
    fmt::print("unknown tokens: {}\n", corpus.one_sided ? fmt::format("{:.2f} %", 100 * unknown.target)
                                                        : fmt::format("source {:.2f} %, target {:.2f} %",
                                                                      100 * unknown.source, 100 * unknown.target));
  const std::string warning = warning_of(of_split, corpus);
  if (!warning.empty()) Console().warn(warning);
  return exit_done;
}

}  // namespace

void add_eval(CommandTable& table) { table.add("eval", "Measure a run on a split", {"run"}, eval_command); }

}  // namespace surd
