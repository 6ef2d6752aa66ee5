#include "autograd/node.h"

#include <algorithm>

#include "tensor/memory.h"
#include "tensor/own_count.h"
#include "tensor/per_thread.h"

namespace heed {
namespace {

// Lamport's clock: later on a thread is greater, and so is what was made of
// nodes of other threads. No thread waits for another to get a number.
constinit thread_local uint64_t clock = 0;

std::atomic<int64_t> live_of_ended_threads{0};

// Nodes made less nodes deleted by one thread.
struct Live {
  OwnCount count;
  void retire() {
    live_of_ended_threads += count.get();
    count.set(0);
  }
  void forget() { retire(); }
};

void count_live(int64_t n) {
  if (Live* const mine = PerThread<Live>::get()) {
    mine->count.add(n);
  } else {
    live_of_ended_threads += n;
  }
}

// Nodes about to be deleted on this thread. Deleting one may doom its inputs;
// they wait here instead of being deleted within, so that a long chain needs no
// deep stack.
constinit thread_local Node* doomed = nullptr;
constinit thread_local bool deleting = false;

}  // namespace

int64_t live_nodes() {
  int64_t live = live_of_ended_threads;
  PerThread<Live>::for_each([&](const Live& of) { live += of.count.get(); });
  return live;
}

Node::Node(
    Tensor&& v, const char* op, uint64_t newest_input, bool needs, size_t bytes)
    : name(op),
      sequence(clock = std::max(clock, newest_input) + 1),
      value(std::move(v)),
      version(value.version()),
      requires_grad(needs),
      bytes_(static_cast<uint32_t>(bytes)) {
  count_live(1);
}

Node::~Node() {
  for (Edge& edge : edges()) {
    edge.~Edge();
  }
  count_live(-1);
}

Variable Node::make_leaf(Tensor&& value, bool requires_grad) {
  void* const block = detail::block_allocate(sizeof(Node));
  return Variable(new (block) Node(
      std::move(value), nullptr, 0, requires_grad, sizeof(Node)));
}

Variable Node::make(
    Tensor&& value, const char* name, uint64_t newest_input, size_t bytes) {
  void* const block = detail::block_allocate(bytes);
  return Variable(new (block) Node(
      std::move(value), name, newest_input, /*requires_grad=*/true, bytes));
}

void Node::add_edge() { new (edges().data() + num_edges_++) Edge; }

void Node::add_edge(
    const Variable& input, const RuleSource<Variable>* rule, Layout& layout) {
  add_edge();
  Edge& edge = edges().back();
  edge.input = Ref(input.node());
  if (rule != nullptr) {
    set_rule(edge.rule, *rule, layout);
  }
}

void Node::set_joint_rule(
    const RuleSource<std::vector<Variable>>& rule, Layout& layout) {
  set_rule(joint_rule, rule, layout);
}

template <typename Result>
void Node::set_rule(
    Rule<Result>& rule, const RuleSource<Result>& source, Layout& layout) {
  rule.set(
      source, reinterpret_cast<std::byte*>(this) + layout.add(source.type()));
  if (source.type().wants_output) {
    counts_.store(
        counts_.load(std::memory_order_relaxed) | kRulesKeepValue,
        std::memory_order_relaxed);
  }
}

void Node::release_rules() {
  released = true;
  for (Edge& edge : edges()) {
    edge.rule.reset();
  }
  joint_rule.reset();
  if (wants_output()) {
    const uint64_t counts =
        counts_.fetch_and(~kRulesKeepValue, std::memory_order_acq_rel);
    if (variables(counts) == 0) {
      value.release();
    }
  }
}

void Node::add_variable() noexcept {
  // As an edge is held, too, nothing is lost between the two steps.
  if (variables(counts_.fetch_add(kVariable, std::memory_order_relaxed)) == 0) {
    counts_.fetch_add(kEdge, std::memory_order_relaxed);
  }
}

void Node::drop_variable() noexcept {
  uint64_t counts = counts_.load(std::memory_order_acquire);
  uint64_t left = 0;
  do {
    left = counts - kVariable;
    if (variables(left) == 0) {
      if (edges(counts) == 1) {  // nobody else knows this node
        doom();
        return;
      }
      if (!(counts & kRulesKeepValue)) {
        value.release();
      }
      left -= kEdge;
    }
  } while (!counts_.compare_exchange_weak(
      counts, left, std::memory_order_acq_rel, std::memory_order_acquire));
}

void Node::drop_edge() noexcept {
  // Who sees that he is the last one need not count down.
  if (edges(counts_.load(std::memory_order_acquire)) == 1 ||
      edges(counts_.fetch_sub(kEdge, std::memory_order_acq_rel)) == 1) {
    doom();
  }
}

void Node::doom() noexcept {
  next_doomed_ = doomed;
  doomed = this;
  if (deleting) {
    return;
  }
  deleting = true;
  while (doomed != nullptr) {
    Node* const node = doomed;
    doomed = node->next_doomed_;
    const size_t bytes = node->bytes_;
    node->~Node();
    detail::block_free(node, bytes);
  }
  deleting = false;
}

}  // namespace heed
