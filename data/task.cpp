#include "data/task.hpp"

#include "data/tasks/addition.hpp"
#include "data/tasks/copy.hpp"
#include "data/tasks/dates.hpp"
#include "data/tasks/grammar.hpp"
#include "data/tasks/lexical.hpp"
#include "data/tasks/parallel_text.hpp"
#include "data/tasks/reverse.hpp"
#include "data/tasks/sort.hpp"
#include "data/tasks/text.hpp"

namespace surd {

std::unique_ptr<Tokenizer> TextFormat::tokenizer() const {
  std::unique_ptr<Tokenizer> made = subwords.make();
  if (lowercase) made = std::make_unique<LowerCased>(std::move(made));
  return made;
}

const Split& Corpus::split(std::string_view name) const& {
  std::vector<std::string> names;
  for (const Split& split : splits) {
    if (split.name == name) return split;
    names.push_back(split.name);
  }
  throw Error(fmt::format("corpus: there is no split '{}'; there are {}", name, fmt::join(names, ", ")));
}

Registry<Task()>& tasks() {
  static Registry<Task()> table = [] {
    Registry<Task()> built_in("task");
    built_in.add<CopyTask>("copy", "repeat the source");
    built_in.add<ReverseTask>("reverse", "write the source backwards; longer sources in the split test_long");
    built_in.add<LexicalTask>("lexical", "replace each token by its partner in a fixed random bijection");
    built_in.add<SortTask>("sort", "sort numbers in ascending order");
    built_in.add<DatesTask>("dates", "write a date of any common form as ISO 8601, character by character");
    built_in.add<GrammarTask>("grammar", "translate a verb-medial toy language into a verb-final one with agreement");
    built_in.add<AdditionTask>("addition", "add two numbers, least significant digit first");
    built_in.add<ParallelTextTask>("parallel_text", "translate between two files with one sentence a line");
    built_in.add<TextTask>("text", "write texts like those of a file, as a language model");
    return built_in;
  }();
  return table;
}

}  // namespace surd
