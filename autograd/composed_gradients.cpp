#include "autograd/composed_gradients.h"

namespace heed {

std::vector<Variable> composed_gradients(
    const std::function<Variable(const std::vector<Variable>&)>& f,
    const std::vector<Variable>& inputs,
    const Variable& dy) {
  const auto is_wanted = [](const Variable& x) {
    return x.defined() && x.requires_grad();
  };
  // Through nodes of their own: a way from one input to another, outside f, is
  // not followed.
  std::vector<Variable> own;
  std::vector<Variable> wanted;
  for (const Variable& x : inputs) {
    own.push_back(is_wanted(x) ? x.reshape(x.shape()) : x);
    if (is_wanted(x)) {
      wanted.push_back(own.back());
    }
  }
  const std::vector<Variable> found =
      grad({f(own)}, wanted, {.grad_outputs = {dy}, .create_graph = true});
  std::vector<Variable> gradients;
  auto next = found.begin();
  for (const Variable& x : inputs) {
    gradients.push_back(is_wanted(x) ? *next++ : Variable());
  }
  return gradients;
}

}  // namespace heed
