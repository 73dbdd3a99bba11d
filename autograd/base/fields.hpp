#pragma once

#include "autograd/base/error.hpp"

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// autograd/base is what every room may use: errors, field lists, registries, random numbers, UTF-8, the machine's
/// memory. It uses nothing else of the project. Start here, then read registry.hpp.
///
/// Options structs list their fields once, in a member function
///
///     void fields(Fields& f) {
///       f("width", width, "inner width", at_least(1));
///       f("activation", activation, "non-linearity between the two maps");
///       f.rule(width % 8 == 0, "width", "must be a multiple of 8");
///     }
///
/// and everything else follows from that list: reading and checking YAML, the resolved config saved with a run, the
/// reference page and validation in code. The rooms that own options know nothing of YAML.
namespace surd {

/// The values a number may take.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_included = true;
  bool high_included = true;

  bool holds(double value) const;  ///< false for NaN
  std::string text() const;        ///< "at least 1", "in [0, 1)", or "" where everything is allowed
};
Range at_least(double low);
Range above(double low);
Range between(double low, double high);
Range fraction();  ///< [0, 1), e.g. a dropout rate

/// Whether a model can compute with the number: as a float it is not 0 unless it is 0, and not infinite.
bool is_computable(double value);
/// What such a number in the range is: "0 or of a size from 1.2e-38 to 3.4e38".
std::string computable_text(const Range& range);

/// Attribute of a field that is read only while other options have certain values.
struct When {
  bool holds;
  const char* condition;  ///< "schedule is linear"
};
/// Attribute: the unit of a number ("updates", "tokens").
struct Unit {
  const char* name;
};

struct Field {
  const char* name;
  const char* help;
  Range range = {};
  const char* unit = "";
  const char* condition = "";  ///< when the field is read; "" = always
  bool read = true;            ///< whether that condition holds now

  void set(const Range& value) { range = value; }
  void set(const When& when) {
    condition = when.condition;
    read = when.holds;
  }
  void set(const Unit& value) { unit = value.name; }
};

/// A value that is written as one word or a short expression: an enumeration, a Scale.
class Word {
 public:
  virtual ~Word() = default;
  virtual std::string text() const = 0;
  /// Takes the value from its text; false, and unchanged, where the text is not allowed.
  virtual bool parse(std::string_view text) = 0;
  /// choices() are the words that a message may suggest; allowed() says the whole rule in words.
  virtual std::vector<std::string> choices() const = 0;
  virtual std::string allowed() const = 0;
  /// What is allowed beside choices(), as a regular expression (ECMA 262) of the whole text: "" where nothing is, none
  /// where parse() alone can tell.
  virtual std::optional<std::string> pattern() const { return std::nullopt; }
};

class AnyChoice;

/// Visitor of a field list; see the head of this file for its use.
class Fields {
 public:
  virtual ~Fields() = default;

  /// One field: bool, std::size_t, double, std::string, an optional number, an enumeration (with `names_of` found by
  /// argument-dependent look-up, in the order of the enumerators), a Word, a vector of texts, a nested options struct,
  /// or a vector of options structs. Attributes: Range, When, Unit.
  template <class T, class... Attributes>
  void operator()(const char* name, T& value, const char* help, const Attributes&... attributes);

  /// A component chosen by name together with its options: `selector` is the key that holds the name.
  template <class... Attributes>
  void choice(const char* name, const char* selector, AnyChoice& value, const char* help,
              const Attributes&... attributes) {
    Field field{name, help};
    (field.set(attributes), ...);
    visit_choice(field, selector, value);
  }

  /// A rule over several fields, reported at `field`.
  /// `message`: what is required, then "; " and a way out where that does not follow. One that begins with "is
  /// required" says that the key has to be written.
  virtual void rule(bool holds, const char* field, const std::string& message) = 0;

 protected:
  using Members = std::function<void(Fields&)>;

  virtual void visit(const Field&, bool&) = 0;
  virtual void visit(const Field&, std::size_t&) = 0;
  virtual void visit(const Field&, double&) = 0;
  virtual void visit(const Field&, std::string&) = 0;
  virtual void visit(const Field&, std::optional<std::size_t>&) = 0;
  virtual void visit(const Field&, std::optional<double>&) = 0;
  virtual void visit(const Field&, Word&) = 0;
  virtual void visit(const Field&, std::vector<std::string>&) = 0;
  virtual void visit_group(const Field&, const Members& members) = 0;
  virtual void visit_choice(const Field&, const char* selector, AnyChoice& choice) = 0;
  /// A list of groups: `members(i)` lists the fields of element i, `resize` sets their number.
  virtual void visit_list(const Field&, std::size_t size, const std::function<void(std::size_t)>& resize,
                          const std::function<void(std::size_t, Fields&)>& members) = 0;
};

/// Options of what has none.
struct NoOptions {
  void fields(Fields&) {}
};

/// Checks every range and rule of an options struct; throws Error naming `where`, the field and what is allowed.
template <class Options>
void check_options(std::string_view where, Options options);

/// A rule's message with the value that breaks it, before the way out: "must divide d_model = 64; it is 5; set ...".
std::string with_value(std::string message, std::string_view value);

bool includes(const std::vector<std::string>& names, std::string_view name);
/// The candidate nearest to `word` (edit distance with transpositions, at most a third of its length or one;
/// case, '_' and '-' do not count), or "".
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
/// "; did you mean 'd_model'?", the end of a message, or "" where no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

template <class T, class = void>
struct has_fields : std::false_type {};
template <class T>
struct has_fields<T, std::void_t<decltype(std::declval<T&>().fields(std::declval<Fields&>()))>> : std::true_type {};

template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};

template <class Enum>
class EnumWord : public Word {
 public:
  explicit EnumWord(Enum& value) : value_(value) {}
  std::string text() const override { return choices().at(static_cast<std::size_t>(value_)); }
  bool parse(std::string_view text) override {
    const auto words = choices();
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] != text) continue;
      value_ = static_cast<Enum>(i);
      return true;
    }
    return false;
  }
  std::vector<std::string> choices() const override { return names_of(Enum{}); }
  std::string allowed() const override { return fmt::format("one of {}", fmt::join(choices(), ", ")); }
  std::optional<std::string> pattern() const override { return ""; }

 private:
  Enum& value_;
};

void check_options(std::string_view where, const std::function<void(Fields&)>& list);

}  // namespace detail

template <class T, class... Attributes>
void Fields::operator()(const char* name, T& value, const char* help, const Attributes&... attributes) {
  Field field{name, help};
  (field.set(attributes), ...);
  if constexpr (std::is_enum_v<T>) {
    detail::EnumWord<T> word(value);
    visit(field, word);
  } else if constexpr (detail::has_fields<T>::value) {
    visit_group(field, [&](Fields& f) { value.fields(f); });
  } else if constexpr (detail::is_vector<T>::value && !std::is_same_v<T, std::vector<std::string>>) {
    visit_list(
        field, value.size(), [&](std::size_t size) { value.resize(size); },
        [&](std::size_t i, Fields& f) { value[i].fields(f); });
  } else {
    visit(field, value);
  }
}

template <class Options>
void check_options(std::string_view where, Options options) {
  detail::check_options(where, [&](Fields& f) { options.fields(f); });
}

/// The text of an enumerator.
template <class Enum>
std::string name_of(Enum value) {
  return names_of(value).at(static_cast<std::size_t>(value));
}

}  // namespace surd
