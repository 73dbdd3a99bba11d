#pragma once

#include "autograd/base/error.hpp"
#include "autograd/base/random.hpp"
#include "autograd/base/scoped.hpp"
#include "autograd/parameter.hpp"
#include "autograd/ragged_rows.hpp"
#include "autograd/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Reverse-mode automatic differentiation.
///
/// A Tape records one forward pass as a flat vector of nodes in the order they were computed, which is a topological
/// order; backward() walks it once from the end. A Variable is an index into it.
namespace surd {

class BackwardPass;
class Tape;

/// A value on a tape. Trivially copyable; owns nothing and is valid until its tape is cleared, run backward, or told to
/// forget it.
class Variable {
 public:
  Variable() = default;

  explicit operator bool() const { return tape_ != nullptr; }
  Tape& tape() const { return *tape_; }
  std::size_t index() const { return index_; }

  const Tensor& value() const;
  const Shape& shape() const;
  std::size_t dimension() const { return shape().size(); }

  /// The gradient of an input() that asked for one, after backward(). Throws Error where there is none.
  const Tensor& gradient() const;
  bool has_gradient() const;

 private:
  friend class Tape;
  Variable(Tape* tape, std::size_t index) : tape_(tape), index_(index) {}

  Tape* tape_ = nullptr;
  std::size_t index_ = 0;
};

/// The side of a model: source is what encodes, target what decodes; both are joined where they are one sequence.
/// `none` where nobody has said so.
enum class ModelSide { none, source, target, joined };

/// What an observer is shown. It is valid during the call alone.
struct Event {
  enum class Kind {
    leaf,      ///< a parameter, constant or input
    result,    ///< an op's value, as it is recorded
    quantity,  ///< an inner quantity of an op or a layer, see Tape::observe
    gradient   ///< the cotangent of an op's value, as backward() consumes it
  };
  Kind kind;
  const std::string& path;  ///< of the module, see Tape::Region; of a parameter, its name
  std::string_view what;    ///< the op, or the name of the quantity
  ModelSide side;           ///< see Tape::OnSide
  const Tensor& tensor;
  const RaggedRows* rows = nullptr;  ///< of the tensor, where it is [1, N, d] without padding
};

/// Sees what happens on a tape, while it happens.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void see(const Event& event) = 0;
};

/// The inputs of an op, given as a list in braces or as a vector. Absent ones (default-constructed) are skipped.
class Inputs {
 public:
  Inputs(std::initializer_list<Variable> list) {  // NOLINT: implicit; lives no longer than the call it is written in
    begin_ = list.begin();
    end_ = list.end();
  }
  Inputs(const std::vector<Variable>& list) : begin_(list.data()), end_(begin_ + list.size()) {}  // NOLINT: implicit
  const Variable* begin() const { return begin_; }
  const Variable* end() const { return end_; }

 private:
  const Variable* begin_;
  const Variable* end_;
};

class Profile;

struct TapeArguments {
  /// Forward alone, as a finished model computes.
  static TapeArguments inference() {
    TapeArguments arguments;
    arguments.record = arguments.training = false;
    return arguments;
  }

  bool record = true;      ///< false: forward only, nothing is kept for backward
  bool training = true;    ///< false: dropout passes its input through
  std::uint64_t seed = 0;  ///< with `step`, of the random streams of this pass
  std::uint64_t step = 0;
  /// First row of the full batch that this pass works on. Random masks are indexed by the row in the full batch, so
  /// that replicas draw what a single pass would have drawn.
  std::size_t first_row = 0;
  /// Where gradients of parameters are added, by Parameter::index; null: into Parameter::gradient.
  std::vector<GradientSum>* gradients = nullptr;
  /// Called by backward() with the index of each parameter of the pass once its gradient will not change any more.
  const std::function<void(std::size_t)>* gradient_done = nullptr;
  Observer* observer = nullptr;
  Profile* profile = nullptr;  ///< where to book the time of each op
};

/// One forward pass, and its backward pass. Not shared between threads.
class Tape {
 public:
  explicit Tape(const TapeArguments& options = {}) : options_(options) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape() { clear(); }

  const TapeArguments& options() const { return options_; }

  /// Forgets every node, keeping their storage for the next pass.
  void clear();
  void reset(const TapeArguments& options);
  /// Where nothing is recorded, gives back the values from node `first` on, but that of `kept`: of a stack of blocks
  /// the last one's output is all that is needed. Where backward() is to come it needs the others, and they stay.
  /// Throws Error where `kept` is of another tape.
  void forget(std::size_t first, Variable kept);

  /// A leaf with a copy of its own.
  Variable input(Tensor value, bool needs_gradient = false);
  /// A leaf that refers to a tensor, which must outlive the pass.
  Variable constant(const Tensor& value);
  Variable constant(Tensor&&) = delete;  // it would be gone before the pass; take input()
  /// A leaf that refers to a parameter; its gradient is added to the parameter's. May be called again for each use.
  Variable parameter(Parameter& parameter);
  /// The same of one that may be absent: absent where it is null.
  Variable parameter(Parameter* parameter) { return parameter == nullptr ? Variable() : this->parameter(*parameter); }

  /// Records the result of an op. `backward` is called as backward(BackwardPass&) if any of the inputs needs a
  /// gradient; it captures Variables and what forward saved, never other owners of nodes. Throws Error where an input
  /// is of another tape.
  template <class Backward>
  Variable record(const char* op, Tensor value, const Inputs& inputs, Backward backward);

  /// Whether a result of these inputs will be differentiated, so that an op knows whether to save intermediates.
  bool needs_gradient(const Inputs& inputs) const;

  /// Runs backward from `root`, a single number, and spends the tape: values and gradients are returned to the pool as
  /// the loop passes, and only the gradients of inputs stay until clear(). Subnormal numbers count as zeros, see
  /// FlushSubnormals. Throws Error where root has more elements.
  void backward(Variable root);
  /// The same from a root of any shape with its cotangent.
  void backward(Variable root, Tensor cotangent);

  /// The random stream of this pass for a purpose at a path.
  random::Stream stream(std::string_view purpose, std::string_view name) const {
    return {options_.seed, purpose, name, options_.step};
  }

  /// While it lives, nodes are attributed to a module's path.
  class Region : Scoped<const std::string*> {
   public:
    Region(Tape& tape, const std::string& path) : Scoped(tape.path_, &path) {}
    Region(Tape&, std::string&&) = delete;  // nodes refer to the path until the pass is over
  };
  /// Of the module whose Region this is in; "" outside.
  const std::string& path() const { return *path_; }

  /// While it lives, nodes are attributed to a side of the model: whoever computes a side says so.
  class OnSide : Scoped<ModelSide> {
   public:
    OnSide(Tape& tape, ModelSide side) : Scoped(tape.side_, side) {}
  };
  ModelSide side() const { return side_; }

  /// While it lives, values [1, N, d] hold these rows without their padding; null: they are padded.
  class InRows : Scoped<std::shared_ptr<const RaggedRows>> {
   public:
    InRows(Tape& tape, std::shared_ptr<const RaggedRows> rows) : Scoped(tape.rows_, std::move(rows)) {}
  };

  /// The rows that x [1, N, d] holds without their padding; null where it is no such value. Ops ask that count rows or
  /// positions.
  const RaggedRows* ragged_rows(const Tensor& x) const {
    const bool ragged =
        rows_ != nullptr && x.dimension() == 3 && x.shape()[0] == 1 && x.shape()[1] == rows_->positions();
    return ragged ? rows_.get() : nullptr;
  }

  /// Whether anybody sees what observe() shows: ask before a quantity is computed for that alone.
  bool observed() const { return options_.observer != nullptr; }
  /// Shows an inner quantity of an op or a layer to the observer, if there is one; ragged rows with zeros for their
  /// padding, [B, T, d]. May be called by a backward function too, and then has the path and the side of the op.
  void observe(std::string_view what, const Tensor& value) const;
  /// The same, of a quantity that belongs to a parameter: its path is the parameter's name, wherever it is used.
  void observe(Variable parameter, std::string_view what, const Tensor& value) const {
    show(Event::Kind::quantity, *node(parameter).path, what, value);
  }

  /// "path: op" of the first recorded value with a NaN or an infinity; "" if all are finite. Call before backward().
  std::string first_non_finite() const;

  std::size_t size() const { return size_; }

 private:
  friend class Variable;
  friend class BackwardPass;

  struct Node {
    std::optional<Tensor> own;                  ///< the value, unless it belongs to somebody else
    const Tensor* value = nullptr;              ///< = &*own, or the parameter's or constant's
    std::optional<Tensor> gradient;             ///< sum of what the consumers contributed
    GradientSum* parameter_gradient = nullptr;  ///< set on leaves of parameters: takes the place of `gradient`
    bool needs_gradient = false;
    bool keep_gradient = false;
    const char* op = "";
    const std::string* path = nullptr;
    ModelSide side = ModelSide::none;
    std::shared_ptr<const RaggedRows> rows;  ///< see InRows
    bool first_use = false;                  ///< of a parameter in this pass, where gradient_done is told
    std::size_t parameter = 0;
    // The closure lives in a pool block, which costs no call of the system's allocator.
    void* closure = nullptr;
    void (*invoke)(void*, BackwardPass&) = nullptr;
    void (*destroy)(void*) = nullptr;

    void drop_closure() noexcept;
    void release() noexcept;
  };

  Node& node(Variable variable) const { return *nodes_[variable.index_]; }
  Node& push(const char* op);
  void expect_root(Variable root) const;
  Variable finish(Node& node, Event::Kind kind);
  void show(Event::Kind kind, const std::string& path, std::string_view what, const Tensor& tensor) const {
    if (options_.observer != nullptr) options_.observer->see({kind, path, what, side_, tensor, ragged_rows(tensor)});
  }

  TapeArguments options_;
  std::vector<std::unique_ptr<Node>> nodes_;  ///< the first size_ are in use; addresses are stable
  std::size_t size_ = 0;
  std::vector<bool> used_;  ///< parameters of this pass by their index, where gradient_done is told
  bool spent_ = false;      ///< backward() ran
  const std::string* path_ = &top_;
  ModelSide side_ = ModelSide::none;
  std::shared_ptr<const RaggedRows> rows_;
  static const std::string top_;
};

/// What an op's backward function sees of the pass.
class BackwardPass {
 public:
  BackwardPass(Tape& tape, std::size_t index) : tape_(tape), node_(*tape.nodes_[index]) {}

  /// The node's own value, as forward computed it.
  const Tensor& value() const { return *node_.value; }
  /// The cotangent of that value. Throws Error once it was taken.
  const Tensor& gradient() const {
    expect(node_.gradient.has_value(), node_.op, "its backward function reads the gradient it has given away");
    return *node_.gradient;
  }
  /// The same, given away: the op may overwrite it and pass it on. Throws Error the second time.
  Tensor take_gradient() {
    gradient();
    Tensor taken = std::move(*node_.gradient);
    node_.gradient.reset();
    return taken;
  }

  bool needs(Variable variable) const { return variable && tape_.node(variable).needs_gradient; }

  /// Adds a contribution to a variable's gradient; nothing where it needs none. Throws Error where the shapes differ.
  void accumulate(Variable variable, Tensor&& contribution);

  /// A place to add a contribution in: dst = beta dst + contribution, where beta = 0 says that dst is uninitialised.
  /// Fill it before asking for the next one: two inputs of an op may be the same variable. Precondition:
  /// needs(variable).
  struct Slot {
    Real* data;
    Real beta;
  };
  Slot slot(Variable variable);
  /// A place to add a contribution in row by row: dst += contribution, with dst 0 at first. Null where the variable
  /// needs no gradient.
  Real* cleared_slot(Variable variable);

 private:
  Tape& tape_;
  Tape::Node& node_;
};

// ---------------------------------------------------------------------------------------------------------------------

inline const Tensor& Variable::value() const {
  expect(tape_ != nullptr, "variable", "it is absent: default-constructed, on no tape");
  const Tensor* value = tape_->node(*this).value;
  expect(value != nullptr, "variable", "its value is gone: the tape was cleared, run backward, or told to forget it");
  return *value;
}
inline const Shape& Variable::shape() const { return value().shape(); }

template <class Backward>
Variable Tape::record(const char* op, Tensor value, const Inputs& inputs, Backward backward) {
  static_assert(std::is_invocable_v<Backward&, BackwardPass&>, "backward takes a BackwardPass&");
  static_assert(alignof(Backward) <= 64, "the pool aligns to 64 bytes");
  const bool needed = needs_gradient(inputs);
  Node& created = push(op);
  created.own = std::move(value);
  created.value = &*created.own;
  created.needs_gradient = needed;
  if (needed) {
    created.closure = new (pool::allocate(sizeof(Backward))) Backward(std::move(backward));
    created.invoke = [](void* closure, BackwardPass& pass) { (*static_cast<Backward*>(closure))(pass); };
    created.destroy = [](void* closure) { static_cast<Backward*>(closure)->~Backward(); };
  }
  return finish(created, Event::Kind::result);
}

/// "`path of the module`: `op`" of an op that takes x, or the op alone where there is no path.
std::string with_path(Variable x, std::string_view op);

/// Throws Error "`path of the module`: `op`: formatted rule" unless `holds`, of an op that takes x.
template <class... Args>
[[gnu::always_inline]] inline void expect(bool holds, Variable x, std::string_view op, fmt::format_string<Args...> rule,
                                          Args&&... args) {
  if (!holds) throw_error(with_path(x, op), rule, std::forward<Args>(args)...);
}

}  // namespace surd
