#include "autograd/blas.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_folder.hpp"
#include "train/evaluation.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace surd {
namespace {

struct EvalArguments : RunArguments {
  std::string split = "test";
  bool json = false;

  void fields(Fields& f) {
    RunArguments::fields(f);
    f("split", split, "valid, test or another split of the task", Unit{"name"});
    f("json", json, "print one JSON object");
  }
};

int eval_command(const EvalArguments& arguments) {
  blas::initialize();
  OpenRun run(arguments.run, arguments.checkpoint);
  const Dataset dataset(run.config.task.make()->load(run.config.seed), run.codec);
  const auto* pairs = as_usage([&] { return &dataset.split(arguments.split); });
  const Evaluation result = evaluate(run.model.transformer(), *pairs, dataset.codec, EvaluationArguments{});
  const nlohmann::ordered_json json{{"split", arguments.split},
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

}  // namespace

void add_eval(CommandTable& table) { table.add("eval", "Measure a run on a split", {"run"}, eval_command); }

}  // namespace surd
