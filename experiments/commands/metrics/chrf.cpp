#include "train/metrics/chrf.hpp"

#include "experiments/command_line/command.hpp"
#include "experiments/commands/metrics/score_files.hpp"

namespace surd {
namespace {

struct ChrfArguments : ScoreFilesArguments {
  std::size_t word_order = 0;

  void fields(Fields& f) {
    ScoreFilesArguments::fields(f);
    f("word_order", word_order, "longest n-grams of words that count as well; 2 makes it chrF++", between(0, 4));
  }
};

int chrf_command(const ChrfArguments& arguments) { return score_files(Chrf(arguments.word_order), arguments); }

}  // namespace

void add_chrf(CommandTable& table) {
  table.add("chrf", "chrF of translations, as sacreBLEU defines it, and whether systems differ",
            {"translations", "--reference"}, chrf_command);
}

}  // namespace surd
