#include "experiments/commands/all_commands.hpp"

#include "experiments/command_line/command_line.hpp"
#include "experiments/config/describe_options.hpp"
#include "experiments/run/run_config.hpp"

namespace surd {

// Declares and calls the function with which a command's own file adds its row.
#define COMMAND(add_row)             \
  void add_row(CommandTable& table); \
  add_row(table)

static CommandTable all_commands() {
  CommandTable table;
  table.set_keys([] { return settable_keys(describe_options<RunConfig>()); });

  table.section("Train a model and use it");
  COMMAND(add_train);
  COMMAND(add_eval);
  COMMAND(add_translate);
  COMMAND(add_score);
  COMMAND(add_samples);
  COMMAND(add_sample);
  COMMAND(add_average);
  COMMAND(add_export);
  COMMAND(add_import);

  table.section("Look at runs, and at what they can be made of");
  COMMAND(add_compare);
  COMMAND(add_plot);
  COMMAND(add_show);

  table.section("Measure translations");
  COMMAND(add_bleu);
  COMMAND(add_chrf);

  table.add_group("list", "See which runs there are, and what a config can name");
  COMMAND(add_list_runs);
  COMMAND(add_list_names);

  table.add_group("config", "Check and show config files");
  COMMAND(add_config_check);
  COMMAND(add_config_show);
  COMMAND(add_config_reference);
  COMMAND(add_config_schema);

  table.add_group("study", "Ask a question that takes many runs");
  COMMAND(add_study_check);
  COMMAND(add_study_run);
  COMMAND(add_study_extend);
  COMMAND(add_study_publish);
  COMMAND(add_study_work);
  COMMAND(add_study_retry);
  COMMAND(add_study_status);
  COMMAND(add_study_report);
  COMMAND(add_study_compare);
  COMMAND(add_study_export);
  COMMAND(add_study_list);
  COMMAND(add_study_reference);
  COMMAND(add_study_schema);

  table.add_group("bench", "Measure speed");
  COMMAND(add_bench_step);
  COMMAND(add_bench_products);
  COMMAND(add_bench_overhead);
  COMMAND(add_bench_decode);
  COMMAND(add_bench_growth);
  COMMAND(add_bench_shapes);
  COMMAND(add_bench_allreduce);

  table.section("Look at the program itself");
  COMMAND(add_doctor);
  COMMAND(add_commands);
  COMMAND(add_completion);

  table.section("Further commands");  // those that a program of one's own adds
  return table;
}

#undef COMMAND

CommandTable& commands() {
  static CommandTable table = all_commands();
  return table;
}

int run_command_line(int argc, const char* const* argv) { return run_command_line(commands(), argc, argv); }

}  // namespace surd
