#pragma once

#include "autograd/base/error.hpp"
#include "autograd/base/fields.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Components that are chosen by name: feed-forward layers, attention, norms, positions, optimizers, schedules, tasks.
/// A registry is an explicit table; a program outside this tree adds a line to it in its own main:
///
///     surd::feed_forwards().add<MyGlu>("my_glu", "gated linear unit");
namespace surd {

/// A choice as a field list sees it: which names there are, which one is chosen, and the fields of its options.
class AnyChoice {
 public:
  virtual ~AnyChoice() = default;
  virtual const std::string& name() const = 0;
  virtual std::vector<std::string> names() const = 0;
  virtual std::string help(std::string_view name) const = 0;
  /// Chooses by name, with that choice's default options. Throws Error when there is no such name.
  virtual void select(std::string_view name) = 0;
  /// Lists the fields of the chosen options.
  virtual void fields(Fields& f) = 0;
  /// Lists the fields of the default options of `name`, chosen or not. Throws Error when there is no such name.
  virtual void fields_of(std::string_view name, Fields& f) const = 0;
};

template <class Signature>
class Registry;

/// Table from name to implementations of `Product`, each constructed as `Implementation(context..., options)`.
/// An implementation names its options struct `Options`.
template <class Product, class... Context>
class Registry<Product(Context...)> {
 public:
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  /// Throws Error when the name is taken.
  template <class Implementation>
  void add(std::string name, std::string help) {
    static_assert(std::is_base_of_v<Product, Implementation>, "it must derive from the table's product");
    static_assert(!std::is_abstract_v<Implementation>, "a function of its base is not overridden; mind the const");
    static_assert(std::is_constructible_v<Implementation, Context..., const typename Implementation::Options&>,
                  "its constructor must take what the table gives, and its Options last");
    expect(!name.empty(), kind_, "one is registered without a name");
    expect(find(name) == nullptr, kind_, "'{}' is registered twice", name);
    entries_.push_back({std::move(name), std::move(help), std::make_unique<RecipeOf<Implementation>>()});
  }

  const std::string& kind() const { return kind_; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Entry& entry : entries_) all.push_back(entry.name);
    return all;
  }
  /// One line on the component. Throws Error when there is no such name.
  const std::string& help(std::string_view name) const { return require(name).help; }

  /// Options of one implementation, with its type erased.
  class Recipe {
   public:
    virtual ~Recipe() = default;
    virtual void fields(Fields& f) = 0;
    virtual std::unique_ptr<Product> make(Context... context) const = 0;
    virtual std::unique_ptr<Recipe> clone() const = 0;
  };

  /// A fresh recipe with default options. Throws Error when there is no such name.
  std::unique_ptr<Recipe> recipe(std::string_view name) const { return require(name).recipe->clone(); }

  template <class Implementation>
  class RecipeOf : public Recipe {
   public:
    using Options = typename Implementation::Options;
    RecipeOf() = default;
    explicit RecipeOf(Options options) : options_(std::move(options)) {}
    void fields(Fields& f) override { options_.fields(f); }
    std::unique_ptr<Product> make(Context... context) const override {
      return std::make_unique<Implementation>(context..., options_);
    }
    std::unique_ptr<Recipe> clone() const override { return std::make_unique<RecipeOf>(*this); }
    const Options& options() const { return options_; }

   private:
    Options options_;
  };

 private:
  struct Entry {
    std::string name;
    std::string help;
    std::unique_ptr<Recipe> recipe;
  };

  const Entry* find(std::string_view name) const {
    for (const Entry& entry : entries_)
      if (entry.name == name) return &entry;
    return nullptr;
  }
  const Entry& require(std::string_view name) const {
    const Entry* entry = find(name);
    if (entry == nullptr)
      throw Error(fmt::format("{}: there is no '{}'; there are {}{}", kind_, name, fmt::join(names(), ", "),
                              did_you_mean(name, names())));
    return *entry;
  }

  std::string kind_;
  std::vector<Entry> entries_;
};

/// One entry of a registry together with its options; a value like any other option.
template <class Signature>
class Choice;

template <class Product, class... Context>
class Choice<Product(Context...)> : public AnyChoice {
 public:
  using Table = Registry<Product(Context...)>;

  Choice(const Table& table, std::string_view name) : table_(&table) { Choice::select(name); }
  Choice(const Choice& other) : table_(other.table_), name_(other.name_), recipe_(other.recipe_->clone()) {}
  Choice(Choice&&) noexcept = default;
  Choice& operator=(Choice other) noexcept {
    table_ = other.table_;
    name_ = std::move(other.name_);
    recipe_ = std::move(other.recipe_);
    return *this;
  }
  ~Choice() override = default;

  /// Chooses `Implementation` with these options. Throws Error where something else is registered as `name`.
  template <class Implementation>
  void set(std::string_view name, typename Implementation::Options options) {
    using Recipe = typename Table::template RecipeOf<Implementation>;
    const auto registered = table_->recipe(name);
    expect(dynamic_cast<const Recipe*>(registered.get()) != nullptr, table_->kind(),
           "'{}' is not registered with these options", name);
    recipe_ = std::make_unique<Recipe>(std::move(options));
    name_ = name;
  }

  /// The options of the chosen one where that is an `Implementation`; null where it is another.
  template <class Implementation>
  const typename Implementation::Options* options_of() const {
    using Recipe = typename Table::template RecipeOf<Implementation>;
    const auto* recipe = dynamic_cast<const Recipe*>(recipe_.get());
    return recipe == nullptr ? nullptr : &recipe->options();
  }

  const std::string& name() const override { return name_; }
  std::vector<std::string> names() const override { return table_->names(); }
  std::string help(std::string_view name) const override { return table_->help(name); }
  void select(std::string_view name) override {
    recipe_ = table_->recipe(name);
    name_ = name;
  }
  void fields(Fields& f) override { recipe_->fields(f); }
  void fields_of(std::string_view name, Fields& f) const override { table_->recipe(name)->fields(f); }

  std::unique_ptr<Product> make(Context... context) const { return recipe_->make(context...); }

 private:
  const Table* table_;
  std::string name_;
  std::unique_ptr<typename Table::Recipe> recipe_;
};

}  // namespace surd
