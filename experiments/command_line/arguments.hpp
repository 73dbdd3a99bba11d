#pragma once

#include "autograd/base/fields.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// How a field list is written on a command line. The field `length_penalty` is the option --length-penalty. A bool
/// takes no value; Texts may be given again and again; every other field takes one value, in the forms of
/// read_scalar.hpp. The attribute Unit names the value in --help, as in --max-length TOKENS.
namespace surd {

/// A field of texts that are given one by one: --set a=1 --set b=2, or one positional after the other.
class Texts : public Word {
 public:
  std::vector<std::string> values;

  std::string text() const override { return fmt::format("{}", fmt::join(values, " ")); }
  bool parse(std::string_view text) override {
    values.emplace_back(text);
    return true;
  }
  std::vector<std::string> choices() const override { return {}; }
  std::string allowed() const override { return ""; }
};

/// A field as the command line takes it and --help shows it.
struct Argument {
  std::string field;     ///< "length_penalty"
  std::string spelling;  ///< "--length-penalty"; of a positional "CONFIG"
  std::string value;     ///< "NUMBER"; "" for a positional, and for a flag, which takes none
  std::string help;
  std::string allowed;               ///< "in [0, 100]", "one of tasks, layers"; "" where anything is
  std::vector<std::string> choices;  ///< the words it may be; none where these are not a fixed set
  std::string default_value;         ///< "" where there is none
  bool text = false;                 ///< any text, such as the name of a file
  bool positional = false;
  bool required = false;
  bool repeated = false;

  bool flag() const { return !positional && value.empty(); }
  bool setting() const { return value == "KEY=VALUE"; }  ///< whether it is --set, which takes the keys of a config
};

/// Makes arguments of the fields of a list: first the positionals, then the options in the order of the list.
/// `required` says what must be given, a positional by the name of its field, an option by its spelling ("--source");
/// the positionals are written in this order. The name of a positional that may be left out, the last, ends in "?".
/// Throws Error where one of these is not in the list, or where the list has a field that a command line cannot
/// express.
std::vector<Argument> arguments_of(const std::function<void(Fields&)>& list, const std::vector<std::string>& required);

/// What was given for each field, by its name.
using GivenTexts = std::map<std::string, std::vector<std::string>>;

/// Fills the fields of `list`, whose arguments these are; those not given keep their values. Throws UsageError with
/// every value that is not allowed and every rule that is broken.
void read_arguments(const std::function<void(Fields&)>& list, const std::vector<Argument>& arguments,
                    const GivenTexts& given);

}  // namespace surd
