#pragma once

#include "autograd/base/registry.hpp"

#include <optional>
#include <string>
#include <vector>

/// Options with a field of every kind, for the tests of what is done with field lists.
namespace surd::test {

struct Product {};

struct ConstantOptions {
  void fields(Fields&) {}
};
struct LinearOptions {
  std::size_t warmup = 400;
  double floor = 0;
  void fields(Fields& f) {
    f("warmup", warmup, "updates until the full rate", at_least(1), Unit{"updates"});
    f("floor", floor, "rate at the end", at_least(0));
  }
};
struct CosineOptions {
  std::size_t warmup = 400;
  double cycles = 0.5;
  void fields(Fields& f) {
    f("warmup", warmup, "updates until the full rate", at_least(1), Unit{"updates"});
    f("cycles", cycles, "periods of the cosine", above(0));
  }
};

template <class O>
struct Made : Product {
  using Options = O;
  explicit Made(const O&) {}
};
using ProductChoice = Choice<Product()>;

inline Registry<Product()>& shapes() {
  static Registry<Product()> table = [] {
    Registry<Product()> filled("shape");
    filled.add<Made<ConstantOptions>>("constant", "always one");
    filled.add<Made<LinearOptions>>("linear", "up and down");
    filled.add<Made<CosineOptions>>("cosine", "up and round");
    return filled;
  }();
  return table;
}

enum class Spread { normal, uniform, xavier };
inline std::vector<std::string> names_of(Spread) { return {"normal", "uniform", "xavier"}; }

struct StartOptions {
  Spread distribution = Spread::xavier;
  double std = 0.5;

  void fields(Fields& f) {
    const bool free = distribution != Spread::xavier;  // before `distribution` is read
    f("distribution", distribution, "how values start");
    f("std", std, "their deviation", above(0), When{free, "distribution is normal or uniform"});
  }
};

struct GroupOptions {
  std::string match;
  double factor = 1;

  void fields(Fields& f) {
    f("match", match, "names, e.g. \"a | b\"");
    f("factor", factor, "on the rate", at_least(0));
    f.rule(!match.empty(), "match", "is required");
  }
};

struct ModelOptions {
  std::size_t d_model = 64;
  std::size_t heads = 4;
  double dropout = 0;
  bool bias = true;
  StartOptions init;
  ProductChoice kind = {shapes(), "linear"};

  void fields(Fields& f) {
    f("d_model", d_model, "width", at_least(1));
    f("heads", heads, "attention heads", at_least(1));
    f("dropout", dropout, "rate", fraction());
    f("bias", bias, "whether there is one");
    f("init", init, "initial weights");
    f.choice("", "kind", kind, "which shape");
    f.rule(d_model % heads == 0, "heads", fmt::format("must divide d_model = {}", d_model));
  }
};

struct SmallOptions {
  std::size_t seed = 1;
  std::string title = "a run";
  std::optional<std::size_t> limit;
  std::optional<double> clip = 1;
  ModelOptions model;
  ProductChoice schedule = {shapes(), "constant"};
  std::vector<GroupOptions> groups;
  std::vector<std::string> tags;

  void fields(Fields& f) {
    f("seed", seed, "of all draws");
    f("title", title, "what it is called");
    f("limit", limit, "largest number of pairs", at_least(1));
    f("clip", clip, "largest norm", above(0));
    f("model", model, "the model");
    f.choice("schedule", "name", schedule, "learning rate over the run");
    f("groups", groups, "settings of some parameters");
    f("tags", tags, "what it belongs to");
  }
};

}  // namespace surd::test
