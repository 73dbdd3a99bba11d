#include "experiments/run/data/unknown_tokens.hpp"

#include "experiments/program/text_format.hpp"

#include <algorithm>

namespace surd {
namespace {

constexpr double tolerable_share = 0.01;

/// What makes fewer tokens unknown, likeliest first.
std::vector<std::string> ways_out(const TextFormat& format) {
  if (!format.open_vocabulary) return {"make the training split larger"};
  std::vector<std::string> ways;
  if (format.vocabulary.size_limit)
    ways.push_back(fmt::format("raise vocabulary_limit ({})", with_commas(*format.vocabulary.size_limit)));
  if (format.vocabulary.min_frequency > 1)
    ways.push_back(fmt::format("lower min_frequency ({})", format.vocabulary.min_frequency));
  if (format.subwords.name() == "characters")
    ways.emplace_back("see that all files write their characters alike (Unicode NFC)");
  else if (!format.subwords.make()->cuts_words())
    ways.emplace_back("cut words into subwords: task.subwords: {kind: bpe}");
  else if (format.subwords.make()->learns())
    ways.emplace_back("raise task.subwords.coverage, or set task.subwords.byte_fallback: true");
  else
    ways.emplace_back("cut all files by the same subwords, learned from the training split");
  return ways;
}

}  // namespace

UnknownShares unknown_shares(const Dataset& dataset) {
  UnknownShares shares;
  for (const EncodedSplit& split : dataset.splits) shares.emplace_back(split.name, unknown_share(split.pairs));
  return shares;
}

bool worth_telling(const UnknownShares& shares, const TextFormat& format) {
  return format.open_vocabulary || std::any_of(shares.begin(), shares.end(), [](const auto& split) {
           return split.second.source + split.second.target > 0;
         });
}

std::vector<std::string> describe(const UnknownShares& shares, const TextFormat& format) {
  std::vector<std::string> source, target;
  const auto add = [](std::vector<std::string>& items, const char* side, double share, const std::string& split) {
    items.push_back(fmt::format("{}{:.2f} % of {}", items.empty() ? side : "", 100 * share, split));
  };
  for (const auto& [split, share] : shares) {
    add(source, "source ", share.source, split);
    add(target, format.one_sided ? "" : "target ", share.target, split);
  }
  if (format.one_sided) return {labelled("unknown", target, ",")};
  return {labelled("unknown", source, ","), labelled("", target, ",")};
}

std::string warning_of(const UnknownShares& shares, const TextFormat& format) {
  double most = tolerable_share;
  std::string which;
  const auto look = [&](double share, const char* side, const std::string& split) {
    if (share <= most) return;
    most = share;
    which = fmt::format("{:.1f} % of the {}tokens of {}", 100 * share, format.one_sided ? "" : side, split);
  };
  for (const auto& [split, share] : shares) {
    look(share.source, "source ", split);
    look(share.target, "target ", split);
  }
  if (which.empty()) return "";
  return fmt::format("{} are not in the vocabulary: the model sees <unk> in their place, and {}; {}", which,
                     format.one_sided ? "its loss is of that" : "a translation whose reference has one is never right",
                     fmt::join(ways_out(format), ", or "));
}

}  // namespace surd
