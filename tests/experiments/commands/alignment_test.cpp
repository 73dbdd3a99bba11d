#include "trained_run.hpp"

#include "train/storage/files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <vector>

using namespace surd;
using namespace surd::test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("where translations look is written as JSON") {
  const TrainedRun run;
  const std::string path = run.folder.path("alignment.jsonl");
  const std::string plain = run.translate("a b\\n\\nc\\n", "--beam 3").output;
  CHECK(run.translate("a b\\n\\nc\\n", "--beam 3 --alignment " + path).output == plain);
  const std::vector<std::string> texts = lines_of(plain), written = lines_of(read_file(path));
  const std::vector<std::vector<std::string>> sources = {{"a", "b", "</s>"}, {}, {"c", "</s>"}};
  REQUIRE(texts.size() == 3);
  REQUIRE(written.size() == 2);  // the blank line has no translation
  for (const std::string& line : written) {
    const auto object = nlohmann::json::parse(line);
    const std::size_t index = object["line"].get<std::size_t>() - 1;
    REQUIRE((index == 0 || index == 2));
    CHECK(object["text"] == texts[index]);
    CHECK(object["source"] == sources[index]);
    auto target = object["target"].get<std::vector<std::string>>();
    const std::size_t count = target.size();
    if (target.back() == "</s>") target.pop_back();
    CHECK(texts[index] == fmt::format("{}", fmt::join(target, " ")));
    REQUIRE(object["layers"].size() == 1);
    CHECK(object["layers"][0]["layer"] == "decoder.0.cross_attention");
    REQUIRE(object["layers"][0]["heads"].size() == 2);
    for (const auto& head : object["layers"][0]["heads"]) {
      REQUIRE(head.size() == count);
      for (const auto& row : head) {
        REQUIRE(row.size() == sources[index].size());
        double sum = 0;
        for (const double weight : row) sum += weight;
        CHECK(sum == doctest::Approx(1).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("where translations look is a page, as far as it has place") {
  const TrainedRun run;
  const std::string path = run.folder.path("alignment.html");
  std::string many;
  for (int i = 0; i < 52; ++i) many += "a\\n";
  CHECK(contains(run.translate(many, "--alignment " + path).output,
                 "has no place for the last 2 translations; name a .jsonl file for all"));
  const std::string page = read_file(path);
  CHECK(contains(page, "decoder.0.cross_attention, mean of heads"));
  CHECK(contains(page, "decoder.0.cross_attention, head 1"));
  CHECK(contains(page, "id=\"line-50\""));
  CHECK_FALSE(contains(page, "id=\"line-51\""));
}

TEST_CASE("an alignment that cannot be written is said, and what was translated before bad input is kept") {
  const TrainedRun run;
  const std::string path = run.folder.path("alignment.jsonl");
  const Outcome invalid = run.translate("a\\nb \\377\\n", "--alignment " + path);
  CHECK(invalid.exit_code == 1);
  CHECK(contains(read_file(path), "{\"line\":1,"));
  const Outcome nowhere = run.translate("a\\n", "--alignment " + run.folder.path("none") + "/a.html");
  CHECK(nowhere.exit_code == 2);
  CHECK(contains(nowhere.output, "--alignment: there is no folder '" + run.folder.path("none") + "'"));
  CHECK(contains(run.translate("a\\n", "--alignment /dev/stdout").output, "'/dev/stdout' must end in .html or .jsonl"));
  CHECK(contains(run.translate("a\\n", "--alignment ''").output, "--alignment: is empty"));
  const std::string metrics = read_file(run.path + "/metrics.jsonl");
  const Outcome other = run.translate("a\\n", "--alignment " + run.path + "/metrics.jsonl");
  CHECK(other.exit_code == 2);
  CHECK(contains(other.output, "metrics.jsonl' is there and has no alignments"));
  CHECK(read_file(run.path + "/metrics.jsonl") == metrics);
  const std::string translations = run.folder.path("translations.jsonl");
  write_file_atomically(translations, run.translate("a\\n", "--json").output);
  CHECK(contains(run.translate("a\\n", "--alignment " + translations).output, "is there and has no alignments"));
  CHECK(run.translate("a\\n", "--alignment " + path).exit_code == 0);
  const TrainedRun blind(" --set model.encoder_layers=0 --set model.decoder_layers=0");
  CHECK(contains(blind.output, "layers 0+0, which read no source"));
  const Outcome none = blind.translate("a\\n", "--alignment " + path);
  CHECK(none.exit_code == 2);
  CHECK(contains(none.output, "has no decoder layers, so no attention to the source"));
}
