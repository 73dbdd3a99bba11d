#pragma once

#include "experiments/command_line/arguments.hpp"
#include "train/metrics/significance.hpp"

#include <optional>

/// What `surd bleu` and `surd chrf` have in common: files of translations, their scores, and what they differ by.
namespace surd {

struct ScoreFilesArguments {
  Texts translations;
  std::string reference;
  SignificanceTest test = SignificanceTest::randomization;
  std::optional<std::size_t> trials;
  std::size_t seed = 1;
  bool json = false;

  void fields(Fields& f) {
    f("translations", translations,
      "files of translations, one a line, plain or .gz; - is standard input. With several the first is the baseline "
      "that the others are compared with; each is given with the mean of 1,000 bootstrap samples of the lines, and "
      "half "
      "of what holds 95 % of them",
      Unit{"file"});
    f("reference", reference, "the file of their references, line by line", Unit{"file"});
    f("test", test,
      "how several are compared: paired approximate randomization (Riezler & Maxwell 2005), or paired bootstrap "
      "resampling (Koehn 2004) with the p of sacreBLEU, which is smaller",
      Unit{"name"});
    f("trials", trials, "of that test [1000 of bootstrap, 10000 of randomization]", between(1, 1e6), Unit{"trials"});
    f("seed", seed, "of its random numbers");
    f("json", json, "print JSON: an object, or with several files a list of them");
  }
};

/// The metric's, and the version of the program. `lowercase`: of texts that were put into lower case before.
std::string signature_of(const TranslationMetric& metric, bool lowercase = false);

/// Scores each file, and prints the scores and what the test says of their differences. Returns the exit code.
int score_files(const TranslationMetric& metric, const ScoreFilesArguments& arguments);

}  // namespace surd
