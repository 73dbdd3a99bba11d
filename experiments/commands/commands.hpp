#pragma once

#include "data/batch.hpp"
#include "experiments/program/exit_code.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// The commands of the program, one function each; they know nothing of argument parsing. Each returns the exit code.
namespace surd {

struct TrainArguments {
  std::string config;
  std::vector<std::string> settings;  ///< "a.b.c=value"
  std::string out;                    ///< "": runs/ and the name of the config file
  bool resume = false;
  std::optional<std::size_t> replicas;
  std::function<void(std::uint64_t)> after_update;  ///< called after each update; a test stops or kills a run there
};
int train_command(const TrainArguments& arguments);

struct EvalArguments {
  std::string run;
  std::string split = "test";
  std::string checkpoint = "best";
  bool json = false;
};
int eval_command(const EvalArguments& arguments);

struct TranslateArguments {
  std::string run;
  std::string checkpoint = "best";
  std::size_t beam = 1;
  double length_penalty = 1;
  std::optional<std::size_t> max_length;
  std::size_t batch_size = evaluation_batch_size;
};
int translate_command(const TranslateArguments& arguments);

struct ScoreArguments {
  std::string run;
  std::string checkpoint = "best";
  std::string source;
  std::string target;
};
int score_command(const ScoreArguments& arguments);

struct SamplesArguments {
  std::string run;
  std::string split = "test";
  std::string checkpoint = "best";
  std::size_t count = 5;
};
/// Prints some translations of a split with the reference beside them.
int samples_command(const SamplesArguments& arguments);

/// Prints a table of finished runs, grouped by the settings in which they differ, seeds apart.
int compare_command(const std::vector<std::string>& folders);

struct BenchStepArguments {
  std::string shape = "toy-64";
  std::size_t replicas = 1;
  double seconds = 5;
  double dropout = 0.1;
  bool profile = false;
  bool json = false;
};
/// Times training steps beside their matrix products alone, by the BLAS library.
int bench_step_command(const BenchStepArguments& arguments);

/// Prints the shapes that the others take.
int bench_shapes_command(bool json);

struct BenchOverheadArguments {
  std::string shape = "toy-64";
  std::size_t starts = 5;
  double seconds = 10;
  bool json = false;
};
/// Measures what a run costs beside its updates: its start, batches and logs, and the probe.
int bench_overhead_command(const BenchOverheadArguments& arguments);

struct BenchGrowthArguments {
  double seconds = 1;
  bool json = false;
};
/// Times steps of toy-128 with one size at a time made larger or smaller, and fits how the time grows.
int bench_growth_command(const BenchGrowthArguments& arguments);

struct BenchDecodeArguments {
  std::string shape = "m30k-256";
  double seconds = 2;
  bool json = false;
};
/// Times greedy and beam search on an untrained model, which ends no sentence early.
int bench_decode_command(const BenchDecodeArguments& arguments);

/// Reads a config and builds what it describes, without training.
int config_check_command(const std::string& file, const std::vector<std::string>& settings);
/// `comments`: with each key's meaning above it.
int config_show_command(const std::string& file, const std::vector<std::string>& settings, bool comments);
/// Every key there is, for a terminal or as the Markdown of docs/config.md.
int config_reference_command(bool markdown);
int list_command(const std::string& what);
int doctor_command();

}  // namespace surd
