#include "autograd/blas.hpp"
#include "data/batch.hpp"
#include "data/lines.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/commands/sentences.hpp"
#include "experiments/commands/shared_arguments.hpp"
#include "experiments/program/exit_code.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <utility>

namespace surd {
namespace {

struct TranslateArguments : RunArguments {
  std::size_t beam = 1;
  double length_penalty = 1;
  std::optional<std::size_t> max_length;
  bool scores = false;
  std::size_t batch_size = evaluation_batch_size;

  void fields(Fields& f) {
    RunArguments::fields(f);
    f("beam", beam,
      "beam size K; 1 is greedy. Of the 2 K best extensions of the beam by a token, one that ends the sentence is a "
      "finished translation where it ranks among the first K, and the K best of the others go on; the search ends "
      "once none of these can win",
      between(1, 1000));
    f("length_penalty", length_penalty,
      "alpha: the finished translation with the largest log-probability / ((5 + length) / 6)^alpha is printed; the "
      "length counts the tokens and the end of the sentence",
      between(0, 100), Unit{"alpha"});
    f("max_length", max_length,
      "a translation is cut after so many tokens, the end of the sentence counted; one that is cut is printed only "
      "where none is finished [2 (n + 1) + 20 for a source of n tokens, at most the model's longest sequence]",
      between(1, 1e6), Unit{"tokens"});
    f("scores", scores,
      "print score, log-probability and translation, split by tabs. The log-probability is the sum of the natural "
      "logarithms of the probabilities of the tokens and of the end of the sentence; the score, which ranks finished "
      "translations, is the log-probability / ((5 + length) / 6)^alpha. A blank line is not translated and has "
      "neither");
    f("batch_size", batch_size, "lines decoded together", between(1, 1e5), Unit{"lines"});
  }
};

/// Reads line `number` of standard input; false at its end. Throws Error where it cannot be read or is not UTF-8.
bool next_line(std::string& line, std::size_t number) {
  errno = 0;
  if (!std::getline(std::cin, line)) {
    const int reason = errno;
    expect(std::ferror(stdin) == 0, "standard input", "line {} cannot be read: {}", number, std::strerror(reason));
    return false;
  }
  if (number == 1 && line.rfind(byte_order_mark, 0) == 0) line.erase(0, byte_order_mark.size());
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (const auto invalid = find_invalid_utf8(line))
    throw Error(
        fmt::format("standard input:{}:{}: invalid UTF-8 (byte {:#04x}); convert the text, e.g. by iconv -t "
                    "UTF-8",
                    number, *invalid + 1, static_cast<unsigned char>(line[*invalid])));
  return true;
}

int translate_command(const TranslateArguments& arguments) {
  blas::initialize();
  const OpenRun run(arguments.run, arguments.checkpoint);
  DecodingArguments options = translation_options(arguments.max_length);
  options.beam = arguments.beam;
  options.length_penalty = arguments.length_penalty;
  // A person who types wants each answer at once.
  const std::size_t batch_size = isatty(STDIN_FILENO) == 1 ? 1 : arguments.batch_size;
  std::vector<std::vector<TokenId>> sources;
  std::vector<bool> blank;  // whether each line since the last flush is blank; `sources` holds the others
  const auto flush = [&] {
    const auto hypotheses = decode(run.model.transformer(), std::exchange(sources, {}), options);
    std::size_t next = 0;
    for (const bool is_empty : std::exchange(blank, {})) {
      const Translation translation = is_empty ? Translation() : hypotheses[next++];
      if (arguments.scores)
        fmt::print("{}\t{}\t", is_empty ? "" : nats_text(translation.score),
                   is_empty ? "" : nats_text(translation.log_probability));
      fmt::print("{}\n", run.codec.decode_target(translation.tokens));
    }
    const bool written = std::fflush(stdout) == 0;
    expect(written, "standard output", "cannot be written: {}", std::strerror(errno));
  };
  std::size_t number = 0;
  try {
    for (std::string line; next_line(line, ++number);) {
      // A blank line stays blank: the model never saw one, and what it would make of it is no translation.
      if (!is_blank(line)) sources.push_back(encode(run, line, fmt::format("standard input:{}", number)));
      blank.push_back(is_blank(line));
      if (blank.size() == batch_size) flush();
    }
  } catch (const Error&) {
    flush();  // the lines before the bad one are translated first
    throw;
  }
  flush();
  return exit_done;
}

}  // namespace

void add_translate(CommandTable& table) {
  table.add("translate", "Translate lines from standard input", {"run"}, translate_command);
}

}  // namespace surd
