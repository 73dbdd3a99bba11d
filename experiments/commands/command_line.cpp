#include "experiments/commands/command_line.hpp"

#include "autograd/base/error.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/study_commands.hpp"
#include "experiments/config/config_error.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/program/version.hpp"

#include <CLI/CLI.hpp>

#include <functional>

namespace surd {
namespace {

/// Adds a subcommand that runs `command` when it is given.
CLI::App* add(CLI::App& app, const char* name, const char* help, std::function<int()> command,
              std::function<int()>& chosen) {
  CLI::App* sub = app.add_subcommand(name, help);
  sub->callback([&chosen, command = std::move(command)] { chosen = command; });
  return sub;
}

void add_run(CLI::App* sub, std::string& run, std::string& checkpoint) {
  sub->add_option("run", run, "folder of a run")->required()->type_name("RUN");
  sub->add_option("--checkpoint", checkpoint, "best, last or a .safetensors file")->capture_default_str();
}

void add_config(CLI::App* sub, std::string& file, std::vector<std::string>& settings) {
  sub->add_option("config", file, "a YAML file")->required()->type_name("FILE");
  sub->add_option("--set", settings, "a setting over the file's, e.g. model.d_model=128; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_shape(CLI::App* sub, std::string& shape) {
  sub->add_option("--config", shape, "one of `surd bench shapes`")->capture_default_str()->type_name("SHAPE");
}

void add_measurement(CLI::App* sub, double& seconds, bool& json) {
  sub->add_option("--secs", seconds, "how long to measure each")->capture_default_str()->check(CLI::Range(0.0, 3600.0));
  sub->add_flag("--json", json, "print JSON");
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  CLI::App app("Trains small Transformers from YAML files, with every factor in sight.", "surd");
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  std::function<int()> chosen;

  TrainArguments train;
  CLI::App* sub = add(
      app, "train", "Train a model", [&] { return train_command(train); }, chosen);
  add_config(sub, train.config, train.settings);
  sub->add_option("--out", train.out, "folder of the run [runs/NAME]")->type_name("DIR");
  sub->add_flag("--resume", train.resume, "go on from the run's last checkpoint");
  sub->add_option("--replicas", train.replicas, "threads that share each batch")
      ->type_name("N")
      ->check(CLI::Range(1, 256));

  EvalArguments eval;
  sub = add(
      app, "eval", "Measure a run on a split", [&] { return eval_command(eval); }, chosen);
  add_run(sub, eval.run, eval.checkpoint);
  sub->add_option("--split", eval.split, "valid, test or another split of the task")->capture_default_str();
  sub->add_flag("--json", eval.json, "print one JSON object");

  TranslateArguments translate;
  sub = add(
      app, "translate", "Translate lines from standard input", [&] { return translate_command(translate); }, chosen);
  add_run(sub, translate.run, translate.checkpoint);
  sub->add_option("--beam", translate.beam, "beam size; 1 is greedy")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  sub->add_option("--length-penalty", translate.length_penalty, "alpha of ((5 + length) / 6)^alpha")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  sub->add_option("--max-length", translate.max_length, "most tokens of a translation [2 x source + 20]")
      ->check(CLI::Range(1, 1000000));
  sub->add_option("--batch-size", translate.batch_size, "lines decoded together")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));

  ScoreArguments score;
  sub = add(
      app, "score", "Log-probabilities of given translations", [&] { return score_command(score); }, chosen);
  add_run(sub, score.run, score.checkpoint);
  sub->add_option("--source", score.source, "source lines")->required()->type_name("FILE");
  sub->add_option("--target", score.target, "target lines")->required()->type_name("FILE");

  SamplesArguments samples;
  sub = add(
      app, "samples", "Some translations of a split beside their references", [&] { return samples_command(samples); },
      chosen);
  add_run(sub, samples.run, samples.checkpoint);
  sub->add_option("--split", samples.split, "split to take them from")->capture_default_str();
  sub->add_option("--count", samples.count, "how many")->capture_default_str()->check(CLI::Range(1, 1000000));

  std::vector<std::string> compared;
  sub = add(
      app, "compare", "A table of runs, grouped by the settings in which they differ",
      [&] { return compare_command(compared); }, chosen);
  sub->add_option("runs", compared, "folders of runs")->required()->type_name("RUN...");

  CLI::App* config = app.add_subcommand("config", "Check and show config files");
  config->require_subcommand(1);
  std::string file;
  std::vector<std::string> settings;
  sub = add(
      *config, "check", "Report every problem of a file", [&] { return config_check_command(file, settings); }, chosen);
  add_config(sub, file, settings);
  bool comments = false;
  sub = add(
      *config, "show", "Print a file with every default written out",
      [&] { return config_show_command(file, settings, comments); }, chosen);
  add_config(sub, file, settings);
  sub->add_flag("--comments", comments, "with the meaning of each key");
  bool markdown = false;
  sub = add(
      *config, "reference", "Print every key there is", [&] { return config_reference_command(markdown); }, chosen);
  sub->add_flag("--markdown", markdown, "as docs/config.md");

  std::string what;
  sub = add(
      app, "list", "What a config can name", [&] { return list_command(what); }, chosen);
  sub->add_option("what", what)->required()->check(CLI::IsMember({"tasks", "layers", "optimizers", "schedules"}));

  CLI::App* bench = app.add_subcommand("bench", "Measure speed");
  bench->require_subcommand(1);
  BenchStepArguments bench_step;
  sub = add(
      *bench, "step", "Time a training step beside its matrix products alone",
      [&] { return bench_step_command(bench_step); }, chosen);
  add_shape(sub, bench_step.shape);
  add_measurement(sub, bench_step.seconds, bench_step.json);
  sub->add_option("--replicas", bench_step.replicas, "threads that share each batch")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  sub->add_option("--dropout", bench_step.dropout, "rate")->capture_default_str()->check(CLI::Range(0.0, 0.99));
  sub->add_flag("--profile", bench_step.profile, "the share of each op");
  BenchOverheadArguments bench_overhead;
  sub = add(
      *bench, "overhead", "Time what a run costs beside its updates",
      [&] { return bench_overhead_command(bench_overhead); }, chosen);
  add_shape(sub, bench_overhead.shape);
  add_measurement(sub, bench_overhead.seconds, bench_overhead.json);
  sub->add_option("--starts", bench_overhead.starts, "how often the program is started")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  bool shapes_as_json = false;
  sub = add(
      *bench, "shapes", "The shapes that --config can name", [&] { return bench_shapes_command(shapes_as_json); },
      chosen);
  sub->add_flag("--json", shapes_as_json, "print JSON");
  BenchDecodeArguments bench_decode;
  sub = add(
      *bench, "decode", "Time greedy and beam search", [&] { return bench_decode_command(bench_decode); }, chosen);
  add_shape(sub, bench_decode.shape);
  add_measurement(sub, bench_decode.seconds, bench_decode.json);
  BenchGrowthArguments bench_growth;
  sub = add(
      *bench, "growth", "Time steps while one size at a time grows", [&] { return bench_growth_command(bench_growth); },
      chosen);
  add_measurement(sub, bench_growth.seconds, bench_growth.json);

  CLI::App* study = app.add_subcommand("study", "Ask a question that takes many runs");
  study->require_subcommand(1);
  StudyRunArguments study_run;
  std::string study_folder;
  sub = add(
      *study, "run", "Make every run of a study", [&] { return study_run_command(study_run); }, chosen);
  add_config(sub, study_run.file, study_run.settings);
  sub->add_option("--out", study_run.out, "folder of the study [runs/NAME]")->type_name("DIR");
  sub->add_option("--jobs", study_run.jobs, "runs side by side [one a core]")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  sub->add_flag("--resume", study_run.resume, "go on with what is in the folder");
  sub->add_flag("--quick", study_run.quick, "cut down as the study says, to try it");
  sub->add_flag("--keep-checkpoints", study_run.keep_checkpoints, "the runs keep their parameters");
  sub = add(
      *study, "work", "One more worker for a study", [&] { return study_work_command(study_folder); }, chosen);
  sub->add_option("folder", study_folder, "folder of a study")->required()->type_name("DIR");
  sub = add(
      *study, "status", "How far a study is", [&] { return study_status_command(study_folder); }, chosen);
  sub->add_option("folder", study_folder, "folder of a study")->required()->type_name("DIR");
  sub = add(
      *study, "report", "Write the report anew from what the runs have left",
      [&] { return study_report_command(study_folder); }, chosen);
  sub->add_option("folder", study_folder, "folder of a study")->required()->type_name("DIR");
  bool csv = true;
  sub = add(
      *study, "export", "Print one row a run and metric", [&] { return study_export_command(study_folder); }, chosen);
  sub->add_option("folder", study_folder, "folder of a study")->required()->type_name("DIR");
  sub->add_flag("--csv", csv, "as comma-separated values [the only form there is]");
  add(
      *study, "list", "The studies that come with the program", [] { return study_list_command(); }, chosen);
  add(
      *study, "reference", "Print every key of a study file", [] { return study_reference_command(); }, chosen);

  add(
      app, "doctor", "Print and test what results depend on", [] { return doctor_command(); }, chosen);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_done : exit_usage;
  }
  try {
    const int code = chosen();
    expect(std::fflush(stdout) == 0 && std::ferror(stdout) == 0, "standard output", "cannot be written");
    return code;
  } catch (const ConfigError& error) {
    to_stderr("{}\n", error.what());
    return exit_usage;
  } catch (const UsageError& error) {
    to_stderr("error: {}\n", error.what());
    return exit_usage;
  } catch (const std::bad_alloc&) {
    to_stderr("error: there is not enough memory; a smaller model or batch needs less\n");
    return exit_failed;
  } catch (const std::exception& error) {
    to_stderr("error: {}\n", error.what());
    return exit_failed;
  }
}

}  // namespace surd
