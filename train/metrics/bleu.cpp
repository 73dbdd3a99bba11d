#include "train/metrics/bleu.hpp"

#include "train/metrics/ngrams.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace surd {
namespace {

enum class Apart { first, second };

/// Of each two neighbours of which `first` and `second` hold, sets one apart by spaces. No character is looked at
/// twice.
template <class First, class Second>
std::u32string spaced_pairs(std::u32string_view text, Apart apart, First first, Second second) {
  std::u32string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result += text[i];
      continue;
    }
    if (apart == Apart::first)
      result.append({U' ', text[i], U' ', text[i + 1]});
    else
      result.append({text[i], U' ', text[i + 1], U' '});
    ++i;
  }
  return result;
}

template <class Which>
std::u32string spaced_characters(std::u32string_view text, Which which) {
  std::u32string result;
  for (const char32_t c : text) which(c) ? result.append({U' ', c, U' '}) : result.append(1, c);
  return result;
}

void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to) {
  for (std::size_t i = 0; (i = text.find(from, i)) != std::u32string::npos; i += to.size())
    text.replace(i, from.size(), to);
}

bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }

/// mteval-v13a.pl, NormalizeText. Of ASCII punctuation ' . , - are not always apart.
std::u32string mteval_13a(std::u32string text) {
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  text = U" " + text + U" ";
  const auto punctuation = [](char32_t c) {
    return (c >= U' ' && c <= U'&') || (c >= U'(' && c <= U'+') || c == U'/' || (c >= U':' && c <= U'@') ||
           (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
  };
  const auto stop = [](char32_t c) { return c == U'.' || c == U','; };
  const auto no_digit = [](char32_t c) { return !is_digit(c); };
  text = spaced_characters(text, punctuation);
  text = spaced_pairs(text, Apart::second, no_digit, stop);
  text = spaced_pairs(text, Apart::first, stop, no_digit);
  return spaced_pairs(text, Apart::second, is_digit, [](char32_t c) { return c == U'-'; });
}

/// mteval-v14.pl with --international-tokenization.
std::u32string international(std::u32string_view text) {
  const auto in = [](utf8proc_category_t first, utf8proc_category_t last) {
    return [=](char32_t c) {
      const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
      return category >= first && category <= last;
    };
  };
  const auto number = in(UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
  const auto no_number = [&](char32_t c) { return !number(c); };
  const auto punctuation = in(UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
  const auto symbol = in(UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO);
  const std::u32string behind = spaced_pairs(text, Apart::second, no_number, punctuation);
  const std::u32string before = spaced_pairs(behind, Apart::first, punctuation, no_number);
  return spaced_characters(before, symbol);
}

std::u32string without_end(std::u32string text) {
  while (!text.empty() && is_white_space(text.back())) text.pop_back();
  return text;
}

/// What the sums of Bleu::count() make of a corpus.
struct BleuScore {
  explicit BleuScore(const TranslationMetric::Counts& sums)
      : words(sums[0]), reference_words(sums[1]), matching(sums.begin() + 2), ngrams(sums.begin() + 2 + Bleu::longest) {
    if (words < reference_words)
      brevity = words == 0 ? 0 : std::exp(1 - static_cast<double>(reference_words) / static_cast<double>(words));
    if (std::all_of(matching, matching + Bleu::longest, [](std::size_t n) { return n == 0; })) return;
    double smoothing = 1, sum_of_logarithms = 0;
    for (std::size_t n = 0; n < Bleu::longest && ngrams[n] > 0; ++n) {
      if (matching[n] == 0) smoothing *= 2;
      const double matches = matching[n] == 0 ? 1 / smoothing : static_cast<double>(matching[n]);
      precision[n] = 100 * matches / static_cast<double>(ngrams[n]);
    }
    for (const double p : precision)
      sum_of_logarithms += p > 0 ? std::log(p) : -std::numeric_limits<double>::infinity();
    score = brevity * std::exp(sum_of_logarithms / Bleu::longest);
  }

  std::size_t words, reference_words;
  TranslationMetric::Counts::const_iterator matching, ngrams;
  std::array<double, Bleu::longest> precision = {};  // in percent
  double brevity = 1, score = 0;
};

}  // namespace

std::vector<std::string> names_of(BleuTokenization) { return {"13a", "none", "char", "intl"}; }

std::vector<std::u32string> bleu_words(std::string_view line, BleuTokenization tokenization) {
  const std::u32string text = without_end(code_points(line));
  switch (tokenization) {
    case BleuTokenization::mteval_13a: return split_at_white_space(mteval_13a(text));
    case BleuTokenization::none: return split_at_white_space(text);
    case BleuTokenization::characters:
      return split_at_white_space(spaced_characters(text, [](char32_t) { return true; }));
    case BleuTokenization::international: break;
  }
  return split_at_white_space(international(text));
}

std::string Bleu::signature() const {
  return fmt::format("nrefs:1|case:mixed|eff:no|tok:{}|smooth:exp", name_of(tokenization_));
}

TranslationMetric::Counts Bleu::count(std::string_view translation, std::string_view reference) const {
  const NumberedWords words(bleu_words(translation, tokenization_), bleu_words(reference, tokenization_));
  Counts counts{words.translation.size(), words.reference.size()};
  counts.resize(2 + 2 * longest);
  for (std::size_t n = 1; n <= longest; ++n) {
    const NgramCounts of_n = count_ngrams(words.translation, words.reference, n);
    counts[1 + n] = of_n.matching;
    counts[1 + longest + n] = of_n.translation;
  }
  return counts;
}

double Bleu::score(const Counts& sums) const { return BleuScore(sums).score; }

std::string Bleu::details(const Counts& sums) const {
  const BleuScore s(sums);
  const double ratio =
      s.reference_words == 0 ? 0 : static_cast<double>(s.words) / static_cast<double>(s.reference_words);
  return fmt::format("{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", fmt::join(s.precision, "/"),
                     s.brevity, ratio, s.words, s.reference_words);
}

}  // namespace surd
