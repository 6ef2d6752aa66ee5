#pragma once

namespace heed {

namespace detail {
inline constinit thread_local bool grad_enabled = true;
}  // namespace detail

/// Whether operations on this thread are recorded; true at first.
inline bool grad_enabled() { return detail::grad_enabled; }

/// Turns recording on or off for this thread while it lives.
class GradMode {
 public:
  explicit GradMode(bool enabled) : previous_(detail::grad_enabled) {
    detail::grad_enabled = enabled;
  }
  ~GradMode() { detail::grad_enabled = previous_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool previous_;
};

/// Operations are not recorded while it lives: results need no gradient.
class NoGradGuard {
 private:
  GradMode mode_{false};
};

}  // namespace heed
