#include "data/task.hpp"

#include "autograd/base/error.hpp"

#include <doctest/doctest.h>

namespace surd {
namespace {

TEST_CASE("the nine tasks are known by name") {
  CHECK(tasks().names() == std::vector<std::string>{"copy", "reverse", "lexical", "sort", "dates", "grammar",
                                                    "addition", "parallel_text", "text"});
  CHECK_THROWS_WITH_AS(Choice<Task()>(tasks(), "revers"),
                       "task: there is no 'revers'; there are copy, reverse, lexical, sort, dates, grammar, addition, "
                       "parallel_text, text; did you mean 'reverse'?",
                       Error);
}

TEST_CASE("a chosen task loads with its default options") {
  for (const char* name : {"copy", "reverse", "lexical", "sort", "dates", "grammar", "addition"}) {
    CAPTURE(name);
    const Corpus corpus = Choice<Task()>(tasks(), name).make()->load(1);
    CHECK(corpus.split("train").pairs.size() == 20000);
  }
  CHECK_THROWS_WITH_AS(Choice<Task()>(tasks(), "parallel_text").make(),
                       "parallel_text: train_source is required: name a file, for example data/train_source.txt",
                       Error);
}

TEST_CASE("a split is found by its name") {
  Corpus corpus;
  corpus.splits = {{"train", {{"a", "b"}}}, {"test", {}}};
  CHECK(corpus.split("train").pairs.front().target == "b");
  CHECK_THROWS_WITH_AS(corpus.split("dev"), "corpus: there is no split 'dev'; there are train, test", Error);
}

}  // namespace
}  // namespace surd
