#include "data/tasks/synthetic.hpp"
#include "data/text.hpp"

#include "autograd/base/error.hpp"
#include "data/tasks/addition.hpp"
#include "data/tasks/copy.hpp"
#include "data/tasks/dates.hpp"
#include "data/tasks/grammar.hpp"
#include "data/tasks/lexical.hpp"
#include "data/tasks/reverse.hpp"
#include "data/tasks/sort.hpp"
#include "tests/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

namespace surd {
namespace {

template <class Implementation>
typename Implementation::Options small() {
  typename Implementation::Options options;
  options.train_size = 400;
  options.valid_size = 60;
  options.test_size = 80;
  return options;
}

template <class Implementation>
std::unique_ptr<Task> small_task() {
  return std::make_unique<Implementation>(small<Implementation>());
}

struct NamedTask {
  const char* name;
  std::unique_ptr<Task> task;
};

std::vector<NamedTask> generated_tasks() {
  std::vector<NamedTask> all;
  all.push_back({"copy", small_task<CopyTask>()});
  all.push_back({"reverse", small_task<ReverseTask>()});
  all.push_back({"lexical", small_task<LexicalTask>()});
  all.push_back({"sort", small_task<SortTask>()});
  all.push_back({"dates", small_task<DatesTask>()});
  all.push_back({"grammar", small_task<GrammarTask>()});
  all.push_back({"addition", small_task<AdditionTask>()});
  return all;
}

std::vector<std::string> words(const std::string& line) { return tokenize(line, Tokenization::words); }

bool same_text(const Corpus& a, const Corpus& b) {
  const auto same_pair = [](const TextPair& x, const TextPair& y) {
    return x.source == y.source && x.target == y.target;
  };
  const auto same_split = [&](const Split& x, const Split& y) {
    return x.name == y.name && std::equal(x.pairs.begin(), x.pairs.end(), y.pairs.begin(), y.pairs.end(), same_pair);
  };
  return std::equal(a.splits.begin(), a.splits.end(), b.splits.begin(), b.splits.end(), same_split);
}

TEST_CASE("generated corpora have the sizes asked for, and no source twice") {
  for (const auto& entry : generated_tasks()) {
    const auto& task = entry.task;
    CAPTURE(entry.name);
    const Corpus corpus = task->load(7);
    REQUIRE(corpus.splits.size() >= 3);
    CHECK(corpus.splits[0].name == "train");
    CHECK(corpus.splits[1].name == "valid");
    CHECK(corpus.splits[2].name == "test");
    CHECK(corpus.split("train").pairs.size() == 400);
    CHECK(corpus.split("valid").pairs.size() == 60);
    CHECK(corpus.split("test").pairs.size() == 80);
    std::set<std::string> sources;
    std::size_t pairs = 0;
    for (const Split& split : corpus.splits) {
      for (const TextPair& pair : split.pairs) {
        sources.insert(pair.source);
        CHECK_FALSE(is_blank(pair.target));
        ++pairs;
      }
    }
    CHECK(sources.size() == pairs);
    for (const Split& split : corpus.splits) CHECK(split.blank == 0);
  }
}

TEST_CASE("a generated corpus is a function of the seed") {
  for (const auto& entry : generated_tasks()) {
    const auto& task = entry.task;
    CAPTURE(entry.name);
    CHECK(same_text(task->load(7), task->load(7)));
    CHECK_FALSE(same_text(task->load(7), task->load(8)));
  }
}

TEST_CASE("the symbols cover every token of a generated corpus") {
  for (const auto& entry : generated_tasks()) {
    const auto& task = entry.task;
    CAPTURE(entry.name);
    const Corpus corpus = task->load(7);
    if (corpus.source_symbols.empty()) continue;
    const std::set<std::string> symbols(corpus.source_symbols.begin(), corpus.source_symbols.end());
    CHECK(corpus.target_symbols == corpus.source_symbols);
    CHECK(symbols.size() == corpus.source_symbols.size());
    for (const Split& split : corpus.splits)
      for (const TextPair& pair : split.pairs)
        for (const std::string& word : words(pair.source + " " + pair.target)) CHECK(symbols.count(word) == 1);
  }
}

TEST_CASE("the three splits follow one distribution, even where short sources are few") {
  SequenceOptions options = small<CopyTask>();
  options.vocabulary = 3;
  options.min_length = 1;
  options.max_length = 6;  // 3 + 9 + 27 + 81 + 243 + 729 sources
  options.train_size = options.test_size = 400;
  const Corpus corpus = CopyTask(options).load(1);
  const auto short_sources = [&](const char* name) {
    const auto& pairs = corpus.split(name).pairs;
    return std::count_if(pairs.begin(), pairs.end(), [](const TextPair& pair) { return pair.source.size() <= 5; });
  };
  CHECK(short_sources("train") > 0);
  CHECK(short_sources("test") > 0);
  CHECK(std::abs(short_sources("train") - short_sources("test")) < 20);
}

TEST_CASE("asking for more examples than there are is an error") {
  SequenceOptions options = small<CopyTask>();
  options.vocabulary = 5;
  options.min_length = options.max_length = 2;
  CHECK_THROWS_WITH_AS(
      CopyTask(options).load(1),
      "task.train_size: 540 distinct examples are asked for, but only 25 were found, and 100000 further draws gave "
      "no new one; ask for fewer in all splits together, or allow more or longer ones",
      Error);
  options.train_size = 20;
  options.valid_size = 2;
  options.test_size = 3;
  CHECK(CopyTask(options).load(1).splits.front().pairs.size() == 20);  // all there are

  ReverseOptions reverse = small<ReverseTask>();
  reverse.vocabulary = 1;
  reverse.train_size = reverse.valid_size = 1;
  reverse.test_size = 6;
  CHECK_THROWS_WITH_AS(
      ReverseTask(reverse).load(1),
      "task.test_size: 14 distinct examples are asked for, but only 13 were found, and 100000 further draws "
      "gave no new one; ask for fewer in all splits together, or allow more or longer ones",
      Error);
}

TEST_CASE("more examples than the memory holds are an error, if need be while they are drawn") {
  SplitSizes sizes;
  sizes.train_size = 3000;
  sizes.valid_size = sizes.test_size = 1;
  std::size_t drawn = 0;
  const auto draw = [&](random::Sequence&) {
    return TextPair{std::to_string(++drawn) + std::string(996, '.'), std::string(1000, '.')};
  };
  const auto told = [&](double memory) {
    drawn = 0;
    return test::message_of([&] { DistinctExamples("lines", 1, memory).deal(sizes, draw); });
  };
  CHECK(test::contains(told(4e5), "task.train_size: 3002 examples take more than"));
  CHECK(drawn == 0);
  CHECK(test::contains(told(1e7), "task.train_size: 3002 examples take more than"));
  CHECK(drawn == 1000);
  CHECK(told(1.2e7).empty());
  DistinctExamples examples("lines", 1, 1.2e7);
  drawn = 0;
  examples.deal(sizes, draw);
  // What was dealt counts as well.
  CHECK(test::contains(test::message_of([&] { examples.split("test_long", 1000, draw); }),
                       "task.test_size: 4002 examples take more than"));
}

TEST_CASE("copy repeats the source, of any length in the range") {
  SequenceOptions options = small<CopyTask>();
  options.max_length = 4;
  std::set<std::size_t> lengths;
  const Corpus corpus = CopyTask(options).load(1);
  for (const TextPair& pair : corpus.split("train").pairs) {
    CHECK(pair.target == pair.source);
    lengths.insert(words(pair.source).size());
  }
  CHECK(lengths == std::set<std::size_t>{2, 3, 4});
}

TEST_CASE("reverse turns the source round; test_long goes beyond the trained lengths") {
  const Corpus corpus = ReverseTask(small<ReverseTask>()).load(1);
  std::map<std::string, std::set<std::size_t>> lengths;
  for (const Split& split : corpus.splits) {
    for (const TextPair& pair : split.pairs) {
      auto source = words(pair.source);
      lengths[split.name].insert(source.size());
      std::reverse(source.begin(), source.end());
      CHECK(source == words(pair.target));
    }
  }
  CHECK(lengths["train"] == std::set<std::size_t>{2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(lengths["test_long"] == std::set<std::size_t>{11, 12, 13, 14, 15});
  CHECK(corpus.split("test_long").pairs.size() == 80);
}

TEST_CASE("lexical replaces each token by its partner") {
  const LexicalTask task(small<LexicalTask>());
  const auto partner = task.bijection(5);
  std::set<std::size_t> image(partner.begin(), partner.end());
  CHECK(image.size() == 128);
  CHECK(*image.rbegin() == 127);
  CHECK(partner != task.bijection(6));
  const Corpus corpus = task.load(5);
  for (const TextPair& pair : corpus.split("test").pairs) {
    const auto source = words(pair.source);
    const auto target = words(pair.target);
    REQUIRE(source.size() == target.size());
    for (std::size_t i = 0; i < source.size(); ++i)
      CHECK(target[i] == "w" + std::to_string(partner.at(std::stoul(source[i].substr(1)))));
  }
}

TEST_CASE("lexical draws its symbols by Zipf's law on request") {
  LexicalOptions options = small<LexicalTask>();
  options.vocabulary = 50;
  options.train_size = 5000;
  const auto frequency = [&](double exponent) {
    options.zipf_exponent = exponent;
    std::map<std::string, double> count;
    double total = 0;
    const Corpus corpus = LexicalTask(options).load(1);
    for (const TextPair& pair : corpus.split("train").pairs)
      for (const std::string& word : words(pair.source)) ++count[word], ++total;
    for (auto& entry : count) entry.second /= total;
    return count;
  };
  auto uniform = frequency(0);
  CHECK(uniform["w0"] == doctest::Approx(0.02).epsilon(0.15));
  CHECK(uniform["w49"] == doctest::Approx(0.02).epsilon(0.15));
  auto zipf = frequency(1);  // the harmonic number H(50) is 4.4992
  CHECK(zipf["w0"] == doctest::Approx(1 / 4.4992).epsilon(0.1));
  CHECK(zipf["w1"] == doctest::Approx(0.5 / 4.4992).epsilon(0.1));
  CHECK(zipf["w9"] == doctest::Approx(0.1 / 4.4992).epsilon(0.15));
}

TEST_CASE("sort puts numbers in ascending order") {
  SequenceOptions options = small<SortTask>();
  options.vocabulary = 120;
  bool seen_numeric_order = false;
  const Corpus corpus = SortTask(options).load(1);
  for (const TextPair& pair : corpus.split("train").pairs) {
    std::vector<int> numbers;
    for (const std::string& word : words(pair.source)) numbers.push_back(std::stoi(word));
    std::sort(numbers.begin(), numbers.end());
    std::string expected;
    for (const int number : numbers) expected += (expected.empty() ? "" : " ") + std::to_string(number);
    CHECK(pair.target == expected);
    const auto target = words(pair.target);
    seen_numeric_order |= !std::is_sorted(target.begin(), target.end());  // 9 before 10, unlike the texts
  }
  CHECK(seen_numeric_order);
}

TEST_CASE("addition adds from the least significant digit") {
  const auto number = [](std::string text) {
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    CHECK((text.size() == 1 || text.back() != '0'));  // no leading zeros
    return std::stol(std::string(text.rbegin(), text.rend()));
  };
  std::size_t widest = 0;
  const Corpus corpus = AdditionTask(small<AdditionTask>()).load(1);
  for (const TextPair& pair : corpus.split("train").pairs) {
    const auto plus = pair.source.find(" + ");
    REQUIRE(plus != std::string::npos);
    CHECK(number(pair.source.substr(0, plus)) + number(pair.source.substr(plus + 3)) == number(pair.target));
    widest = std::max(widest, words(pair.target).size());
  }
  CHECK(widest == 4);
}

TEST_CASE("the drawn examples are the same on every machine") {
  const auto first = [](const Task& task) {
    const Corpus corpus = task.load(1);
    return corpus.split("train").pairs.front().source + " -> " + corpus.split("train").pairs.front().target;
  };
  std::map<std::string, std::string> examples;
  for (const auto& [name, task] : generated_tasks()) examples[name] = first(*task);
  CHECK(examples["copy"] == "z w l h m w -> z w l h m w");
  CHECK(examples["reverse"] == "j p i e j u e -> e u j e i p j");
  CHECK(examples["lexical"] == "w73 w3 w123 w72 -> w66 w55 w13 w28");
  CHECK(examples["sort"] == "25 19 -> 19 25");
  CHECK(examples["dates"] == "the 29th of March 2045 -> 2045-03-29");
  CHECK(examples["grammar"] == "the wolves helped some bakers -> lon rukon unan fonan juton");
  CHECK(examples["addition"] == "3 + 5 -> 8");
}

TEST_CASE("symbols are letters while there are enough") {
  CHECK(symbol_names(3) == std::vector<std::string>{"a", "b", "c"});
  CHECK(symbol_names(26).back() == "z");
  CHECK(symbol_names(27).back() == "w26");
  CHECK(sentence_of(symbol_names(3), {2, 0, 2}) == "c a c");
}

TEST_CASE("options out of range are refused by name") {
  SequenceOptions options;
  options.max_length = 1;
  CHECK_THROWS_WITH_AS(CopyTask{options}, "copy: max_length must be at least min_length = 2; it is 1", Error);
  options = {};
  options.train_size = 0;
  CHECK_THROWS_WITH_AS(SortTask{options}, "sort: train_size must be in [1, 100_000_000]; got 0", Error);
  LexicalOptions lexical;
  lexical.zipf_exponent = -1;
  CHECK_THROWS_WITH_AS(LexicalTask{lexical}, "lexical: zipf_exponent must be in [0, 10]; got -1", Error);
  AdditionOptions addition;
  addition.max_digits = 0;
  CHECK_THROWS_AS(AdditionTask{addition}, Error);
}

}  // namespace
}  // namespace surd
