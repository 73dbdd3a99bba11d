#include "experiments/study/file/claims.hpp"

#include "experiments/config/read_options.hpp"
#include "experiments/program/folders.hpp"

#include <set>
#include <vector>

namespace surd {
namespace {

struct ClaimFields {
  std::size_t number = 0;
  std::string text;

  void fields(Fields& f) {
    f("number", number, "what studies refer to it by", at_least(1));
    f("text", text, "the claim, one sentence without its full stop");
    f.rule(number > 0, "number", "is required");
    f.rule(!text.empty(), "text", "is required");
  }
};

struct ClaimsFields {
  std::vector<ClaimFields> claims;

  void fields(Fields& f) {
    f("claims", claims, "what people say about the factors");
    std::set<std::size_t> numbers;
    for (const ClaimFields& claim : claims) numbers.insert(claim.number);
    f.rule(!claims.empty(), "claims", "is required");
    f.rule(numbers.size() == claims.size(), "claims", "must have numbers that differ");
  }
};

}  // namespace

std::map<std::size_t, std::string> read_claims(const std::filesystem::path& file) {
  ClaimsFields fields;
  read_options(YamlDocument::load(file), fields);
  std::map<std::size_t, std::string> texts;
  for (ClaimFields& claim : fields.claims) texts.emplace(claim.number, std::move(claim.text));
  return texts;
}

std::string_view claim_text(std::size_t claim) {
  static const std::map<std::size_t, std::string> texts = read_claims(studies_folder() / claims_file);
  const auto found = texts.find(claim);
  return found == texts.end() ? std::string_view() : found->second;
}

}  // namespace surd
