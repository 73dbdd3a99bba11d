#pragma once

#include "data/dataset.hpp"

#include <string>
#include <utility>
#include <vector>

namespace surd {

/// The shares of unknown tokens of splits, by their names.
using UnknownShares = std::vector<std::pair<std::string, UnknownShare>>;

/// Those of every split, in the order of the dataset.
UnknownShares unknown_shares(const Dataset& dataset);

/// Whether a person wants to be told of them: always where the text may hold any word, otherwise only where there are
/// any.
bool worth_telling(const UnknownShares& shares, const TextFormat& format);

/// Two lines, of the source and of the target, or of texts alone one, as describe() has them.
std::vector<std::string> describe(const UnknownShares& shares, const TextFormat& format);

/// "" unless a side of a split has more than 1 % of unknown tokens; otherwise which has the most, and what to do.
std::string warning_of(const UnknownShares& shares, const TextFormat& format);

}  // namespace surd
