#include "experiments/run/data/fingerprint.hpp"

#include "train/storage/hash.hpp"
#include "train/storage/json_object.hpp"

namespace surd {
namespace {

std::string hash_of(const std::vector<TextPair>& pairs) {
  Hash hash;
  constexpr std::size_t block_size = 1 << 16;  // hashed at a time, which is faster than lines are
  std::string block;
  const auto hash_block = [&] {
    hash.add(block);
    block.clear();
  };
  for (const TextPair& pair : pairs) {
    for (const std::string* text : {&pair.source, &pair.target}) {
      block += *text;
      block += '\n';  // so that text moved to another line changes the hash
    }
    if (block.size() >= block_size) hash_block();
  }
  hash_block();
  return hash.digits();
}

}  // namespace

Fingerprint fingerprint(const Corpus& corpus) {
  Fingerprint result;
  for (const Split& split : corpus.splits) result[split.name] = {split.pairs.size(), hash_of(split.pairs)};
  return result;
}

std::string to_json_text(const Fingerprint& fingerprint, const UnknownShares& unknown) {
  nlohmann::ordered_json json;
  for (const auto& [name, split] : fingerprint) json[name] = {{"pairs", split.pairs}, {"xxh3", split.hash}};
  for (const auto& [name, share] : unknown)
    json[name]["unknown"] = {{"source", share.source}, {"target", share.target}};
  return json.dump(2) + "\n";
}

Fingerprint parse_fingerprint(const std::string& text, const std::string& name) {
  const JsonObject json(text, name, "the file was changed by hand: put it back, or train again into another folder");
  Fingerprint result;
  for (const std::string& split : json.keys()) {
    const JsonObject object = json.object(split);
    result[split] = {object.count("pairs"), object.text("xxh3")};
  }
  return result;
}

std::string difference(const Fingerprint& before, const Fingerprint& after, const std::vector<std::string>& splits) {
  std::string lines;
  for (const std::string& name : splits) {
    const auto found = before.find(name);
    const SplitFingerprint old = found == before.end() ? SplitFingerprint() : found->second;
    const SplitFingerprint& now = after.at(name);
    if (old == now) continue;
    lines += old.pairs == now.pairs ? fmt::format("\n  {}: other text in its {} pairs", name, now.pairs)
                                    : fmt::format("\n  {}: {} -> {} pairs", name, old.pairs, now.pairs);
  }
  return lines;
}

}  // namespace surd
