#include "autograd/rule_scope.h"

namespace heed {
namespace {

thread_local const char* running = "an operation";

}  // namespace

RuleScope::RuleScope(const char* name) : previous_(running) { running = name; }

RuleScope::~RuleScope() { running = previous_; }

const char* RuleScope::current() { return running; }

}  // namespace heed
