#include "experiments/commands/sentences.hpp"

#include "autograd/base/utf8.hpp"
#include "data/text.hpp"
#include "experiments/config/config_error.hpp"
#include "experiments/config/settings.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/experiment.hpp"
#include "train/storage/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <limits>

namespace surd {
namespace {

/// Like std::getline, but what is no text, and has no lines, does not fill the memory.
bool read_line(std::string& line, std::size_t number) {
  constexpr std::size_t longest = std::size_t{16} << 20;
  line.clear();
  for (int c = 0; (c = std::cin.rdbuf()->sbumpc()) != std::char_traits<char>::eof();) {
    if (c == '\n') return true;
    expect(line.size() < longest, fmt::format("standard input:{}", number),
           "a line has more than 16 MiB; is that text? give a sentence a line");
    line += static_cast<char>(c);
  }
  return !line.empty();
}

}  // namespace

DecodingArguments SearchArguments::search() const {
  DecodingArguments options;
  options.beam = beam;
  options.length_penalty = length_penalty;
  options.normalization = normalization;
  options.allow_unknown = !no_unknown;
  return options;
}

void expect_translates(const OpenRun& run, const std::string& path) {
  expect_usage(!run.codec.one_sided(), path,
               "is of texts alone, which are not translated: surd sample writes some, surd eval and surd score measure "
               "them");
}

namespace {

/// " (cd ...)", as far as the run tells.
std::string folder_of_training(const RunFolder& run) {
  try {
    const std::string folder = run.read_origin().folder;
    return folder.empty() ? "" : fmt::format(" (cd {})", shell_word(folder));
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

Corpus corpus_with(const OpenRun& run, const std::string& split) {
  Corpus corpus;
  try {
    corpus = while_waiting(waiting_for_data, [&] { return run.config.task.make()->load(run.config.seed); });
  } catch (const OptionError& error) {
    const Settings settings = settings_of(run.config);
    const auto file = settings.find(error.path());
    if (file == settings.end() || path_exists(file->second)) throw;
    throw UsageError(
        fmt::format("{}: all files of its data are needed: {}\nits paths begin in the folder that it was trained in{}; "
                    "of a file that was moved, write the new path into {}",
                    run.folder.path, error.what(), folder_of_training(run.folder), run.folder.config()));
  }
  std::vector<std::string> names;
  for (const Split& one : corpus.splits) names.push_back(one.name);
  expect_usage(includes(names, split), "--split", "there is no split '{}'; there are {}{}", split,
               fmt::join(names, ", "), did_you_mean(split, names));
  corpus.splits = {corpus.split(split)};
  if (path_exists(run.folder.data())) {
    const std::string changes = run.folder.changed_data(corpus, {split});
    if (!changes.empty()) Console().warn("the data are not those that the run was begun with:" + changes);
  }
  return corpus;
}

void expect_fits(const OpenRun& run, const std::string& where, std::size_t positions) {
  expect(positions <= run.model.transformer().max_length(), where,
         "{} tokens are more than the model's longest sequence of {}", positions, run.model.transformer().max_length());
}

DecodingArguments translation_options(const SearchArguments& arguments, const std::optional<std::size_t>& max_length) {
  DecodingArguments options = arguments.search();
  options.max_length = max_length.value_or(std::numeric_limits<std::size_t>::max());
  if (!max_length) options.max_length_factor = usual_max_length_factor;
  return options;
}

std::string nats_text(double log_probability) { return fmt::format("{:.6g}", log_probability + 0.0); }

bool next_line(std::string& line, std::size_t number) {
  errno = 0;
  if (!read_line(line, number)) {
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

bool lines_are_typed() { return isatty(STDIN_FILENO) == 1; }

void UnknownTokens::add(const std::vector<std::string>& tokens, const Vocabulary& vocabulary) {
  constexpr std::size_t most_named = 5;
  tokens_ += tokens.size();
  for (const std::string& token : tokens) {
    if (vocabulary.id(token) != Vocabulary::unk) continue;
    ++unknown_;
    known_in_lower_case_ += vocabulary.id(lower_case(token)) != Vocabulary::unk;
    const std::string name = shown(token);
    if (some_.size() < most_named && !includes(some_, name)) some_.push_back(name);
  }
}

void UnknownTokens::report() const {
  if (unknown_ == 0) return;
  const double percent = 100 * static_cast<double>(unknown_) / static_cast<double>(tokens_);
  std::string text = fmt::format("{} of {} tokens ({:.3g} %) are not in the vocabulary, among them {}",
                                 with_commas(unknown_), with_commas(tokens_), percent, fmt::join(some_, ", "));
  if (known_in_lower_case_ > 0)
    text += fmt::format(
        "; in lower case it has {} of them: was the model trained on lower-cased text? (task.lowercase: true takes "
        "any)",
        with_commas(known_in_lower_case_));
  Console().warn(text);
}

}  // namespace surd
