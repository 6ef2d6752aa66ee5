#include <mutex>

#include "autograd/backward_pass.h"
#include "autograd/grad_mode.h"
#include "autograd/variable.h"
#include "tensor/hold_while_forking.h"

namespace heed {
namespace {

// One thread at a time: a pass keeps sums of gradients in the nodes. A rule or
// a hook may start another pass within.
std::recursive_mutex& engine_mutex() {
  static std::recursive_mutex* const mutex = [] {
    hold_while_forking<engine_mutex>();
    return new std::recursive_mutex;
  }();
  return *mutex;
}

// `gradient` checked against `y`, or 1 in its stead.
Variable seed(std::string_view who, const Variable& y, const Variable& dy) {
  if (!y.defined()) {
    fail(who, "the output must be defined, got an empty handle");
  }
  if (!y.requires_grad()) {
    fail<std::logic_error>(
        who,
        "the output must depend on a variable that requires a gradient, got a "
        "constant, as is all that is computed while recording is off");
  }
  if (!dy.defined()) {
    if (y.numel() != 1) {
      fail(
          who,
          "an output that is not a single number needs its gradient given, "
          "got shape ",
          y.shape());
    }
    return Variable(Tensor(y.shape(), y.dtype()).fill_(1));
  }
  if (dy.shape() != y.shape() || dy.dtype() != y.dtype()) {
    fail(
        who,
        "the gradient must have the output's shape and dtype, ",
        y.dtype(),
        " ",
        y.shape(),
        ", got ",
        dy.dtype(),
        " ",
        dy.shape());
  }
  return dy;
}

}  // namespace

void Variable::backward(BackwardOptions options) const {
  backward(Variable(), options);
}

void Variable::backward(
    const Variable& gradient, BackwardOptions options) const {
  const Variable dy = seed("backward", *this, gradient);
  options.retain_graph |= options.create_graph;
  const std::lock_guard lock(engine_mutex());
  const GradMode mode(options.create_graph);
  BackwardPass pass(options);
  pass.start(*this, dy);
  pass.run();
  pass.accumulate();
}

std::vector<Variable> grad(
    const std::vector<Variable>& outputs,
    const std::vector<Variable>& inputs,
    const GradOptions& options) {
  if (!options.grad_outputs.empty() &&
      options.grad_outputs.size() != outputs.size()) {
    fail(
        "grad",
        "there must be one of grad_outputs for each output, got ",
        options.grad_outputs.size(),
        " for ",
        outputs.size());
  }
  for (const Variable& x : inputs) {
    if (!x.defined() || !x.requires_grad()) {
      fail<std::logic_error>("grad", "each input must require a gradient");
    }
  }
  std::vector<Variable> seeds;
  for (size_t i = 0; i < outputs.size(); ++i) {
    seeds.push_back(seed(
        "grad",
        outputs[i],
        options.grad_outputs.empty() ? Variable() : options.grad_outputs[i]));
  }
  const std::lock_guard lock(engine_mutex());
  const GradMode mode(options.create_graph);
  BackwardPass pass(
      {.retain_graph = options.retain_graph || options.create_graph,
       .create_graph = options.create_graph});
  pass.capture(outputs, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    pass.start(outputs[i], seeds[i]);
  }
  pass.run();
  std::vector<Variable> gradients;
  for (size_t i = 0; i < inputs.size(); ++i) {
    gradients.push_back(pass.captured(inputs[i].node()));
    if (!gradients.back().defined() && !options.allow_unused) {
      fail<std::logic_error>(
          "grad",
          "input ",
          i,
          " plays no part in the outputs; set allow_unused to get an "
          "undefined gradient");
    }
  }
  return gradients;
}

}  // namespace heed
