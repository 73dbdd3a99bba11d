#include "train/metrics/bleu.hpp"

#include "experiments/command_line/command.hpp"
#include "experiments/commands/metrics/score_files.hpp"

namespace surd {
namespace {

struct BleuArguments : ScoreFilesArguments {
  BleuTokenization tokenize = BleuTokenization::mteval_13a;

  void fields(Fields& f) {
    ScoreFilesArguments::fields(f);
    f("tokenize", tokenize,
      "what a word is: 13a sets ASCII punctuation apart as WMT does, none takes what stands between white space, char "
      "takes characters, intl sets all punctuation and symbols of Unicode apart",
      Unit{"name"});
  }
};

int bleu_command(const BleuArguments& arguments) { return score_files(Bleu(arguments.tokenize), arguments); }

}  // namespace

void add_bleu(CommandTable& table) {
  table.add("bleu", "BLEU of translations, as sacreBLEU defines it, and whether systems differ",
            {"translations", "--reference"}, bleu_command);
}

}  // namespace surd
