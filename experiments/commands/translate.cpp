#include "autograd/blas.hpp"
#include "data/batch.hpp"
#include "data/text.hpp"
#include "experiments/command_line/command.hpp"
#include "experiments/commands/sentences.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/study/report/alignment.hpp"
#include "experiments/study/report/html_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

struct TranslateArguments : SearchArguments {
  std::optional<std::size_t> max_length;
  std::optional<std::size_t> n_best;
  bool scores = false;
  bool json = false;
  bool interactive = false;
  std::string alignment;
  std::size_t batch_size = evaluation_batch_size;

  void fields(Fields& f) {
    SearchArguments::fields(f);
    f("max_length", max_length,
      "a translation is cut after so many tokens, the end of the sentence counted; one that is cut is printed only "
      "where none is finished [2 (n + 1) + 20 for a source of n tokens, at most the model's longest sequence]",
      between(1, 1e6), Unit{"tokens"});
    f("n_best", n_best,
      "print so many translations of each line, the best first, at most as many as the beam holds: the number of the "
      "line, then what --scores prints. Those that were cut come after all that are finished, whatever their scores",
      between(1, 1000));
    f("scores", scores,
      "print score, log-probability and translation, split by tabs. The log-probability is the sum of the natural "
      "logarithms of the probabilities of the tokens and of the end of the sentence; the score, which ranks finished "
      "translations, is the log-probability over the power of the length. A blank line is not translated and has "
      "neither");
    f("json", json, "print a JSON object for each line: its translations with their tokens and scores");
    f("interactive", interactive, "translate each line as it comes, as on a terminal, and not some together");
    f("alignment", alignment,
      "write where each token of the best translation looks in the source, the attention weights of every decoder "
      "layer and head: NAME.html is a page of heat maps for a browser, of the first translations; NAME.jsonl has a "
      "JSON object for each, with line, text, source, target, and layers, each with its path (layer) and "
      "heads[H][T][S]",
      Unit{"file"});
    f("batch_size", batch_size, "lines decoded together", between(1, 1e5), Unit{"lines"});
    f.rule(n_best.value_or(1) <= beam, "n_best", "must not be above the beam; set --beam as high");
  }
};

/// Lines that wait for each other, so that those of similar length are decoded together.
class Translator {
 public:
  Translator(const OpenRun& run, const TranslateArguments& arguments) : run_(run), arguments_(arguments) {
    options_ = translation_options(arguments, arguments.max_length);
    options_.n_best = arguments.n_best.value_or(1);
    if (!arguments.alignment.empty()) alignments_.emplace(arguments.alignment, chart_library());
    most_lines_ = arguments.interactive || lines_are_typed() ? 1 : lines_sorted_together * arguments.batch_size;
  }

  void add(const std::string& line, std::size_t number) {
    // A blank line stays blank: the model never saw one, and what it would make of it is no translation.
    lines_.push_back({number, line, is_blank(line) ? std::vector<TokenId>() : source_of(line, number), {}});
    if (lines_.size() == most_lines_) flush();
  }

  /// Translates and prints the lines that wait.
  void flush() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (!lines_[i].source.empty()) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return lines_[a].source.size() < lines_[b].source.size(); });
    for (std::size_t begin = 0; begin < order.size(); begin += arguments_.batch_size) {
      const std::size_t end = std::min(begin + arguments_.batch_size, order.size());
      std::vector<std::vector<TokenId>> sources;
      for (std::size_t i = begin; i < end; ++i) sources.push_back(lines_[order[i]].source);
      auto translations = decode_n_best(run_.model.transformer(), sources, options_);
      for (std::size_t i = begin; i < end; ++i) lines_[order[i]].translations = std::move(translations[i - begin]);
    }
    for (const Line& line : std::exchange(lines_, {})) {
      print(line);
      if (alignments_ && !line.translations.empty()) add_alignment(line);
    }
    flush_stdout();
  }

  /// Ends the file of --alignment.
  void finish_alignments() {
    if (!alignments_) return;
    alignments_->finish();
    if (without_place_ > 0)
      Console().warn(fmt::format("{}: has no place for the last {} translations; name a .jsonl file for all",
                                 arguments_.alignment, with_commas(without_place_)));
  }

  /// Tells of words that the vocabulary lacks.
  void report() const { unknown_.report(); }

 private:
  static constexpr std::size_t lines_sorted_together = 16;  // batches

  struct Line {
    std::size_t number;
    std::string text;
    std::vector<TokenId> source;  // empty where the line is blank
    std::vector<Translation> translations;
  };

  std::vector<TokenId> source_of(const std::string& line, std::size_t number) {
    std::vector<std::string> tokens = run_.codec.source_tokens_of_text(line);
    const std::size_t most = run_.model.transformer().max_source_length() - 1;  // and its eos
    if (tokens.size() > most) {
      Console().warn(
          fmt::format("standard input:{}: {} tokens; the first {} are translated, the model has no place for more",
                      number, with_commas(tokens.size()), with_commas(most)));
      tokens.resize(most);
    }
    unknown_.add(tokens, run_.codec.source_vocabulary());
    std::vector<TokenId> ids = run_.codec.source_vocabulary().ids(tokens);
    ids.push_back(Vocabulary::eos);
    return ids;
  }

  void print(const Line& line) const {
    if (arguments_.json) {
      Json translations = Json::array();
      for (const Translation& t : line.translations)
        translations.push_back({{"text", run_.codec.decode_target(t.tokens)},
                                {"tokens", tokens_of(t.tokens, run_.codec.target_vocabulary())},
                                {"score", t.score},
                                {"log_probability", t.log_probability},
                                {"finished", t.finished}});
      fmt::print("{}\n", Json{{"line", line.number}, {"source", line.text}, {"translations", translations}}.dump());
      return;
    }
    const bool blank = line.translations.empty();
    const std::string number = arguments_.n_best ? fmt::format("{}\t", line.number) : "";
    const bool scores = arguments_.scores || arguments_.n_best;
    if (blank) fmt::print("{}{}\n", number, scores ? "\t\t" : "");
    for (const Translation& t : line.translations)
      fmt::print("{}{}{}\n", number,
                 scores ? fmt::format("{}\t{}\t", nats_text(t.score), nats_text(t.log_probability)) : "",
                 run_.codec.decode_target(t.tokens));
  }

  void add_alignment(const Line& line) {
    if (!alignments_->has_place()) {
      ++without_place_;
      return;
    }
    const Translation& best = line.translations.front();
    std::vector<TokenId> target = best.tokens;
    if (best.finished) target.push_back(Vocabulary::eos);
    alignments_->add({line.number, run_.codec.decode_target(best.tokens),
                      tokens_of(line.source, run_.codec.source_vocabulary()),
                      tokens_of(target, run_.codec.target_vocabulary()),
                      cross_attention(run_.model.transformer(), line.source, target)});
  }

  static std::vector<std::string> tokens_of(const std::vector<TokenId>& ids, const Vocabulary& vocabulary) {
    std::vector<std::string> tokens;
    for (const TokenId id : ids) tokens.push_back(vocabulary.token(id));
    return tokens;
  }

  const OpenRun& run_;
  const TranslateArguments& arguments_;
  DecodingArguments options_;
  std::size_t most_lines_;
  std::vector<Line> lines_;
  std::optional<AlignmentFile> alignments_;
  std::size_t without_place_ = 0;
  UnknownTokens unknown_;
};

int translate_command(const TranslateArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  expect_translates(run, arguments.run);
  expect_usage(
      arguments.alignment.empty() || (run.config.model.decoder_layers > 0 && run.model.transformer().has_encoder()),
      "--alignment", "{} has no {}, so no attention to the source", arguments.run,
      run.model.transformer().has_encoder() ? "decoder layers" : "encoder");
  Translator translator(run, arguments);
  std::size_t number = 0;
  try {
    for (std::string line; next_line(line, ++number);) translator.add(line, number);
  } catch (const Error&) {
    translator.flush();  // the lines before the bad one are translated first
    translator.finish_alignments();
    throw;
  }
  translator.flush();
  translator.finish_alignments();
  translator.report();
  return exit_done;
}

}  // namespace

void add_translate(CommandTable& table) {
  table.add("translate", "Translate lines from standard input", {"run"}, translate_command);
}

}  // namespace surd
