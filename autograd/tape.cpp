#include "autograd/tape.hpp"

#include "autograd/base/subnormals.hpp"
#include "autograd/kernels/elementwise.hpp"
#include "autograd/profile.hpp"

#include <algorithm>

namespace surd {

namespace {

/// x [1, N, d] as [B, T, d], with zeros where a row ends before T.
Tensor padded(const Tensor& x, const RaggedRows& rows) {
  const std::size_t d = row_length(x);
  Tensor result = zeros({rows.count(), rows.longest(), d});
  for (std::size_t b = 0; b < rows.count(); ++b)
    std::copy_n(x.data() + rows.begin(b) * d, rows.length(b) * d, result.data() + b * rows.longest() * d);
  return result;
}

}  // namespace

const std::string Tape::top_;

void Tape::Node::drop_closure() noexcept {
  if (closure == nullptr) return;
  destroy(closure);
  pool::release(closure);
  closure = nullptr;
}

void Tape::Node::release() noexcept {
  drop_closure();
  own.reset();
  rows.reset();
  value = nullptr;
  if (!keep_gradient) gradient.reset();
}

void Tape::clear() {
  for (std::size_t i = 0; i < size_; ++i) {
    nodes_[i]->release();
    nodes_[i]->gradient.reset();
  }
  size_ = 0;
  spent_ = false;
  used_.clear();
}

void Tape::forget(std::size_t first, Variable kept) {
  expect(kept.tape_ == this, "forget", "what is to be kept is not on this tape");
  if (options_.record) return;
  for (std::size_t i = first; i < size_; ++i)
    if (i != kept.index()) nodes_[i]->release();
}

void Tape::reset(const TapeArguments& options) {
  clear();
  options_ = options;
}

Tape::Node& Tape::push(const char* op) {
  if (size_ == nodes_.size()) nodes_.push_back(std::make_unique<Node>());
  Node& created = *nodes_[size_++];
  created = Node();  // nothing of an earlier pass is left
  created.op = op;
  created.path = path_;
  created.side = side_;
  created.rows = rows_;
  return created;
}

Variable Tape::finish(Node& created, Event::Kind kind) {
  if (options_.profile != nullptr) options_.profile->forward(created.op);
  show(kind, *created.path, created.op, *created.value);
  return {this, size_ - 1};
}

Variable Tape::input(Tensor value, bool needs_gradient) {
  Node& created = push("input");
  created.own = std::move(value);
  created.value = &*created.own;
  created.needs_gradient = created.keep_gradient = needs_gradient && options_.record;
  return finish(created, Event::Kind::leaf);
}

Variable Tape::constant(const Tensor& value) {
  Node& created = push("constant");
  created.value = &value;
  return finish(created, Event::Kind::leaf);
}

Variable Tape::parameter(Parameter& parameter) {
  Node& created = push("parameter");
  created.value = &parameter.value;
  created.needs_gradient = options_.record;
  created.parameter_gradient =
      options_.gradients == nullptr ? &parameter.gradient : &options_.gradients->at(parameter.index);
  created.path = &parameter.name;
  if (options_.gradient_done != nullptr) {
    if (used_.size() <= parameter.index) used_.resize(parameter.index + 1);
    created.first_use = !used_[parameter.index];
    created.parameter = parameter.index;
    used_[parameter.index] = true;
  }
  return finish(created, Event::Kind::leaf);
}

bool Tape::needs_gradient(const Inputs& inputs) const {
  bool needed = false;
  for (const Variable& input : inputs) {
    if (!input) continue;
    expect(input.tape_ == this, "tape", "the inputs of an op must be on one tape");
    needed = needed || node(input).needs_gradient;
  }
  return needed && options_.record;
}

void Tape::expect_root(Variable root) const {
  expect(root.tape_ == this, "backward", "the root is not on this tape");
  expect(!spent_, "backward", "the tape was run backward before; clear() it and record another pass");
}

void Tape::backward(Variable root) {
  expect_root(root);
  expect(root.value().size() == 1, "backward", "the root must be a single number; got {}", root.shape());
  backward(root, full(root.shape(), 1));
}

void Tape::backward(Variable root, Tensor cotangent) {
  expect_root(root);
  expect(options_.record, "backward", "the tape was not recording");
  expect(cotangent.shape() == root.shape(), "backward", "the cotangent must have the root's shape {}; got {}",
         root.shape(), cotangent.shape());
  Node& last = node(root);
  expect(last.needs_gradient && last.parameter_gradient == nullptr, "backward",
         "the root must be the result of an op on something that needs a gradient");
  const FlushSubnormals flush;
  spent_ = true;
  last.gradient = std::move(cotangent);
  for (std::size_t i = size_; i-- > 0;) {
    Node& current = *nodes_[i];
    if (current.gradient && current.closure != nullptr) {
      const Region region(*this, *current.path);  // for what the op's backward function observes
      const OnSide side(*this, current.side);
      const InRows rows(*this, current.rows);
      show(Event::Kind::gradient, *current.path, current.op, *current.gradient);
      BackwardPass pass(*this, i);
      current.invoke(current.closure, pass);
      if (options_.profile != nullptr) options_.profile->backward(current.op);
    }
    current.release();
    if (current.first_use) (*options_.gradient_done)(current.parameter);
  }
}

void Tape::observe(std::string_view what, const Tensor& value) const {
  if (!observed()) return;
  if (const RaggedRows* const rows = ragged_rows(value))
    show(Event::Kind::quantity, *path_, what, padded(value, *rows));
  else
    show(Event::Kind::quantity, *path_, what, value);
}

std::string Tape::first_non_finite() const {
  for (std::size_t i = 0; i < size_; ++i) {
    const Node& current = *nodes_[i];
    if (current.value == nullptr || all_finite(*current.value)) continue;
    return current.path->empty() ? current.op : fmt::format("{}: {}", *current.path, current.op);
  }
  return "";
}

std::string with_path(Variable x, std::string_view op) {
  return x && !x.tape().path().empty() ? fmt::format("{}: {}", x.tape().path(), op) : std::string(op);
}

bool Variable::has_gradient() const { return tape_ != nullptr && tape_->node(*this).gradient.has_value(); }

const Tensor& Variable::gradient() const {
  expect(has_gradient(), "gradient", "this variable has no gradient; only inputs that ask for one keep it");
  return *tape_->node(*this).gradient;
}

void BackwardPass::accumulate(Variable variable, Tensor&& contribution) {
  if (!needs(variable)) return;
  Tape::Node& target = tape_.node(variable);
  expect(contribution.shape() == target.value->shape(), node_.op, "the gradient of a {} value has shape {}",
         target.value->shape(), contribution.shape());
  if (target.parameter_gradient == nullptr && !target.gradient) {
    target.gradient = std::move(contribution);
    return;
  }
  const Slot to = slot(variable);
  if (to.beta == 0)
    std::copy_n(contribution.data(), contribution.size(), to.data);
  else
    kernels::accumulate(contribution.data(), to.data, contribution.size());
}

BackwardPass::Slot BackwardPass::slot(Variable variable) {
  Tape::Node& target = tape_.node(variable);
  if (target.parameter_gradient != nullptr) {
    const Real beta = target.parameter_gradient->empty ? Real(0) : Real(1);
    target.parameter_gradient->empty = false;
    return {target.parameter_gradient->sum.data(), beta};
  }
  if (target.gradient) return {target.gradient->data(), 1};
  target.gradient = Tensor(target.value->shape());
  return {target.gradient->data(), 0};
}

Real* BackwardPass::cleared_slot(Variable variable) {
  if (!needs(variable)) return nullptr;
  const Slot to = slot(variable);
  if (to.beta == 0) std::fill_n(to.data, variable.value().size(), Real(0));
  return to.data;
}

}  // namespace surd
