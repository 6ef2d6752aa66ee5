#include "autograd/node.h"

namespace heed {
namespace {

std::atomic<uint64_t> next_sequence{0};
std::atomic<int64_t> live{0};

// Nodes about to be deleted on this thread. Deleting one may doom its inputs;
// they wait here instead of being deleted within, so that a long chain needs no
// deep stack.
thread_local Node* doomed = nullptr;
thread_local bool deleting = false;

}  // namespace

int64_t live_nodes() { return live.load(std::memory_order_relaxed); }

Node::Node(const Tensor& v, bool needs)
    : sequence(next_sequence.fetch_add(1, std::memory_order_relaxed)),
      shape(v.shape()),
      dtype(v.dtype()),
      value(v),
      requires_grad(needs) {
  live.fetch_add(1, std::memory_order_relaxed);
}

Node::~Node() { live.fetch_sub(1, std::memory_order_relaxed); }

void Node::release_rules() {
  released = true;
  wants_output = false;
  for (Edge& edge : edges) {
    edge.rule = Rule();
  }
  joint_rule = JointRule();
  if (variables_.load(std::memory_order_acquire) == 0) {
    value = Tensor();
  }
}

void Node::drop_variable() noexcept {
  if (variables_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    if (!wants_output) {
      value = Tensor();
    }
    drop_edge();
  }
}

void Node::drop_edge() noexcept {
  if (edges_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  next_doomed_ = doomed;
  doomed = this;
  if (deleting) {
    return;
  }
  deleting = true;
  while (doomed != nullptr) {
    Node* node = doomed;
    doomed = node->next_doomed_;
    delete node;
  }
  deleting = false;
}

}  // namespace heed
