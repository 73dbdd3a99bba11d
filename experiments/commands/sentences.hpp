#pragma once

#include "experiments/commands/shared_arguments.hpp"
#include "experiments/run/run_folder.hpp"
#include "train/decoding.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// What goes into the model of a run, and what comes out of it.
namespace surd {

/// A run, and how translations are searched for.
struct SearchArguments : RunArguments {
  std::size_t beam = 1;
  double length_penalty = 1;
  LengthNormalization normalization = LengthNormalization::gnmt;
  bool no_unknown = false;

  void fields(Fields& f) {
    RunArguments::fields(f);
    f("beam", beam,
      "beam size K; 1 is greedy: the likeliest token each time, until that is the end of the sentence. Of the 2 K best "
      "extensions of the beam by a token, one that ends the sentence is a finished translation where it ranks among "
      "the first K, and the K best of the others go on; the search ends once no longer translation can rank before the "
      "finished ones that are asked for. <pad> and <s> are never written",
      between(1, 1000));
    f("length_penalty", length_penalty,
      "alpha: finished translations are ranked by their log-probability over a power of their length, which counts the "
      "tokens and the end of the sentence",
      between(0, 100), Unit{"alpha"});
    f("normalization", normalization,
      "that power: gnmt is ((5 + length) / 6)^alpha (Wu et al. 2016), fairseq is length^alpha", Unit{"name"});
    f("no_unknown", no_unknown, "never write <unk>, but the token that is the likeliest beside it");
  }
  DecodingArguments search() const;
};

/// Throws UsageError where a run, named `path`, is of texts alone, which are not translated.
void expect_translates(const OpenRun& run, const std::string& path);

/// The corpus that a run was trained on, of its splits this one alone; warns where that is not what it was when the run
/// was begun. Throws UsageError where there is no such split, and Error where the corpus cannot be read.
Corpus corpus_with(const OpenRun& run, const std::string& split);

/// Throws Error, naming `where`, where the model has no place for so many tokens.
void expect_fits(const OpenRun& run, const std::string& where, std::size_t positions);

/// Limits how long a translation may get: to `max_length` tokens, or where that is not given, to 2 (n + 1) + 20 for a
/// source of n tokens and its eos. Either limit counts the translation's eos.
DecodingArguments translation_options(const SearchArguments& arguments, const std::optional<std::size_t>& max_length);

/// A number of --scores with six digits: "-1.23456", in nats; a length penalty can make scores as small as -1e-30.
std::string nats_text(double log_probability);

/// Reads line `number`, from 1, of standard input; false at its end. Throws Error where it cannot be read or is not
/// UTF-8.
bool next_line(std::string& line, std::size_t number);
/// Whether a person types the lines, who wants each answer at once.
bool lines_are_typed();

/// Counts the tokens of lines that the vocabulary lacks.
class UnknownTokens {
 public:
  void add(const std::vector<std::string>& tokens, const Vocabulary& vocabulary);
  /// Warns of them, where there are any: their share, some of them, and how many are known in lower case.
  void report() const;

 private:
  std::size_t tokens_ = 0, unknown_ = 0, known_in_lower_case_ = 0;
  std::vector<std::string> some_;
};

}  // namespace surd
