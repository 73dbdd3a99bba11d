#pragma once

#include "data/task.hpp"
#include "experiments/run/data/unknown_tokens.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace surd {

/// What a split held when a run was begun.
struct SplitFingerprint {
  std::uint64_t pairs = 0;
  std::string hash;  ///< of its text

  bool operator==(const SplitFingerprint& other) const { return pairs == other.pairs && hash == other.hash; }
};
/// The fingerprint of each split of a corpus, by its name.
using Fingerprint = std::map<std::string, SplitFingerprint>;

Fingerprint fingerprint(const Corpus& corpus);

/// The text of data.json, which also keeps the share of unknown tokens of each split.
std::string to_json_text(const Fingerprint& fingerprint, const UnknownShares& unknown);
/// Reads the fingerprint in the text of data.json. Throws Error, naming the file `name`, for any other text.
Fingerprint parse_fingerprint(const std::string& text, const std::string& name);

/// What differs in these splits, which `after` has, a line each; "" where nothing does.
std::string difference(const Fingerprint& before, const Fingerprint& after, const std::vector<std::string>& splits);

}  // namespace surd
