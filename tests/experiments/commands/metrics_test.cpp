#include "../../data/temporary_directory.hpp"
#include "../program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace surd;
using namespace surd::test;

namespace {

struct Files {
  TemporaryDirectory folder;
  std::string reference = folder.write("reference", "a b c d e\nf g h i j\n\nk\n");
  std::string good = folder.write("good", "a b c d e\nf g h i x\n\nk\n");
  std::string bad = folder.write("bad", "a b x x x\nx x h i x\n\nx\n");
  std::string given = " --reference " + reference;
};

}  // namespace

TEST_CASE("bleu and chrf print a score with its signature") {
  const Files files;
  // 10 of 11 words, 7 of 8, 5 of 6 and 3 of 4 n-grams match.
  CHECK(program("bleu " + files.good + files.given).output ==
        "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:surd-0.1.0 = 83.97 90.9/87.5/83.3/75.0 (BP = 1.000 "
        "ratio = 1.000 hyp_len = 11 ref_len = 11)\n");
  CHECK(shell("cat " + files.good + " | " SURD_EXECUTABLE " bleu -" + files.given).output ==
        program("bleu " + files.good + files.given).output);
  CHECK(program("chrf " + files.reference + files.given + " --word-order 2").output ==
        "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:surd-0.1.0 = 100.00\n");
  const auto json = nlohmann::json::parse(program("bleu --json " + files.good + files.given).output);
  CHECK(json["score"].get<double>() == doctest::Approx(83.97).epsilon(1e-4));
  CHECK(json["name"] == "BLEU");
}

TEST_CASE("several systems are compared with the first") {
  const Files files;
  const Outcome outcome =
      program("bleu " + files.bad + " " + files.good + files.given + " --test randomization --trials 500 --seed 3");
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.output, "baseline\n"));
  CHECK(contains(outcome.output, "83.97"));
  CHECK(contains(outcome.output, "paired approximate randomization, 500 trials, seed 3"));
  const auto json = nlohmann::json::parse(program("chrf --json " + files.bad + " " + files.good + files.given).output);
  CHECK(json.size() == 2);
  CHECK(json[0]["p_value"].is_null());
  CHECK(json[1]["p_value"].get<double>() <= 1);
  CHECK(json[1]["score"].get<double>() > json[0]["score"].get<double>());
}

TEST_CASE("files that cannot be scored are told with their names") {
  const Files files;
  const auto answer = [&](const std::string& arguments) {
    const Outcome outcome = program(arguments);
    CHECK(outcome.exit_code == 2);
    return outcome.output;
  };
  const std::string three = files.folder.write("three", "a\nb\nc\n"), empty = files.folder.write("empty", "");
  CHECK(answer("bleu " + three + files.given) == "error: " + three + ": has 3 lines and " + files.reference +
                                                     " has 4; line n must be the reference of line n\n");
  CHECK(contains(answer("bleu " + three + " --reference " + empty), empty + ": holds no line"));
  CHECK(contains(answer("chrf " + files.folder.path("none") + files.given), "No such file"));
  CHECK(contains(answer("bleu " + files.good + files.given + " --tokenize 13b"), "did you mean '13a'?"));
  CHECK(contains(answer("bleu " + files.good), "--reference"));
}
