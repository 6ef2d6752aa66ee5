#pragma once

namespace heed {

/// Names the operation whose rule is running on this thread, for messages. Its
/// end brings back the name that was there before.
class RuleScope {
 public:
  RuleScope() : previous_(running) {}
  ~RuleScope() { running = previous_; }
  RuleScope(const RuleScope&) = delete;
  RuleScope& operator=(const RuleScope&) = delete;

  /// The rules of operation `name` run from now on.
  static void enter(const char* name) { running = name; }
  /// "an operation" outside of any rule.
  static const char* current() { return running; }

 private:
  static inline constinit thread_local const char* running = "an operation";

  const char* previous_;
};

}  // namespace heed
