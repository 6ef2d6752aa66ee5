#pragma once

namespace heed {

/// Names the operation whose rule is running on this thread, for messages.
class RuleScope {
 public:
  explicit RuleScope(const char* name);
  ~RuleScope();
  RuleScope(const RuleScope&) = delete;
  RuleScope& operator=(const RuleScope&) = delete;

  /// The innermost name, "an operation" outside of any rule.
  static const char* current();

 private:
  const char* previous_;
};

}  // namespace heed
