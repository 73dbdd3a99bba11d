#include "data/sentence_piece.hpp"

#include "autograd/base/counted.hpp"
#include "data/lines.hpp"
#include "data/text.hpp"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>

namespace surd {
namespace {

/// SentencePiece knows one white space; tokens must hold none.
std::string with_plain_spaces(std::string_view line) {
  std::string text(line);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c >= '\t' && c <= '\r'; }, ' ');
  return text;
}

/// A message of SentencePiece without its place in the source, and with the keys of a config.
std::string in_our_terms(std::string message) {
  message.erase(0, message.find("] ") == std::string::npos ? 0 : message.find("] ") + 2);
  for (const auto& [theirs, ours] :
       {std::pair("decrease character_coverage with --character_coverage option", "lower task.subwords.coverage"),
        std::pair("vocab_size", "task.subwords.size")})
    if (const auto found = message.find(theirs); found != std::string::npos)
      message.replace(found, std::string_view(theirs).size(), ours);
  return message.empty() ? "there is no text that it can use" : message;
}

/// Throws OptionError at a word of more characters than the trainer of BPE can number: it would crash.
void expect_short_words(const std::vector<std::string>& lines) {
  constexpr std::size_t longest = std::numeric_limits<std::int16_t>::max() - 1;  // and the space before it
  const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; };
  for (const std::string& line : lines) {
    if (line.size() <= longest) continue;
    for (const std::string& word : tokenize(line, Tokenization::words)) {
      const auto length = static_cast<std::size_t>(std::count_if(word.begin(), word.end(), begins_character));
      expect_option(
          length <= longest, "task.subwords.kind",
          "bpe learns from words of at most {} characters; one has {}, and begins {:?}: mend the text, or set "
          "task.subwords: {{kind: unigram}}",
          longest, length, valid_utf8(std::string_view(word).substr(0, 20)));
    }
  }
}

/// Hands lines to the trainer.
class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string>& lines) : lines_(lines) { take(); }
  bool done() const override { return next_ >= lines_.size(); }
  void Next() override {
    ++next_;
    take();
  }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  void take() {
    if (done()) return;
    line_ = with_plain_spaces(lines_[next_]);
    // The trainer leaves out a line that holds U+2585, its own sign of an unknown character.
    constexpr std::string_view sign = "\xe2\x96\x85";
    for (std::size_t at = 0; (at = line_.find(sign, at)) != std::string::npos;) line_.replace(at, sign.size(), " ");
  }

  const std::vector<std::string>& lines_;
  std::size_t next_ = 0;
  std::string line_;
};

}  // namespace

std::vector<std::string> SentencePieces::tokens(std::string_view line) const {
  expect_utf8(line);
  std::vector<std::string> pieces;
  const auto status = processor_->Encode(with_plain_spaces(line), &pieces);
  expect(status.ok(), "SentencePiece", "{}", status.ToString());
  return pieces;
}

std::string SentencePieces::text(const std::vector<std::string>& tokens) const {
  std::string joined;
  for (const std::string& token : tokens) {
    if (processor_->IsByte(processor_->PieceToId(token)))
      joined += static_cast<char>(*byte_of(token));
    else
      joined += token;
  }
  std::string line;
  for (std::size_t i = 0; i < joined.size();) {
    const bool space = std::string_view(joined).substr(i, space_token.size()) == space_token;
    if (space && !line.empty()) line += ' ';  // the first one is a line's start
    if (!space) line += joined[i];
    i += space ? space_token.size() : 1;
  }
  return valid_utf8(line);
}

void SentencePieces::load(const std::string& model, const std::string& name) {
  auto processor = std::make_shared<sentencepiece::SentencePieceProcessor>();
  const auto status = processor->LoadFromSerializedProto(model);
  expect(status.ok(), name, "is not a model of SentencePiece");
  model_ = model;
  processor_ = std::move(processor);
}

std::vector<std::string> SentencePieces::all_tokens() const {
  std::vector<std::string> tokens;
  for (int id = 0; id < processor_->GetPieceSize(); ++id)
    if (!processor_->IsUnknown(id) && !processor_->IsControl(id) && !processor_->IsUnused(id))
      tokens.push_back(processor_->IdToPiece(id));
  return tokens;
}

void LearnedPieces::learn(const std::vector<std::string>& lines) {
  const std::unordered_map<std::string, std::string> settings = {
      {"model_type", kind_},
      {"vocab_size", std::to_string(options_.size)},
      {"character_coverage", fmt::format("{}", options_.coverage)},
      {"byte_fallback", options_.byte_fallback ? "true" : "false"},
      {"hard_vocab_limit", "false"},  // fewer, where the text has no more
      {"normalization_rule_name", "identity"},
      {"max_sentence_length", "1048576"},  // bytes; longer ones would be left out
      {"num_threads", "1"},                // sums in one order
      {"bos_id", "-1"},
      {"eos_id", "-1"},
      {"minloglevel", "2"}};
  if (kind_ == std::string_view("bpe")) expect_short_words(lines);
  Lines sentences(lines);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &sentences, &model);
  expect_option(status.ok(), "task.subwords.size", "SentencePiece cannot learn {} pieces from {}: {}", options_.size,
                counted(lines.size(), "line"), in_our_terms(status.message()));
  load(model, "what SentencePiece has learned");
}

void GivenModel::learn(const std::vector<std::string>& /*lines*/) {
  try {
    load(read_bytes(path_), path_);
  } catch (const Error& error) {
    throw OptionError("task.subwords.model", fmt::format("{}; name a .model file of SentencePiece", error.what()));
  }
}

}  // namespace surd
