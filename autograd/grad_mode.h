#pragma once

namespace heed {

/// Whether operations on this thread are recorded; true at first.
bool grad_enabled();

/// Turns recording on or off for this thread while it lives.
class GradMode {
 public:
  explicit GradMode(bool enabled);
  ~GradMode();
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
