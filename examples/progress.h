#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace examples {

/// Shows how a training run goes: a bar that is drawn anew in a terminal, plain
/// lines now and then elsewhere.
class Progress {
 public:
  /// For a run of `total_steps` optimizer updates, the first one after
  /// `first_step`.
  explicit Progress(int64_t total_steps, int64_t first_step = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// After an update that learnt from `tokens` tokens.
  void update(int64_t step, double loss, double lr, int64_t tokens);
  /// Prints a line of text above the bar.
  void print(const std::string& line);

  /// Since the start, in seconds.
  double seconds() const;
  /// Tokens learnt from a second, over the whole run.
  double tokens_per_second() const;

 private:
  using Clock = std::chrono::steady_clock;

  void draw_bar(int64_t step, double loss, double lr);
  void print_line(int64_t step, double loss, double lr) const;
  std::string figures(int64_t step, double loss, double lr) const;
  std::string time_left(int64_t step) const;

  const int64_t total_steps_;
  const int64_t first_step_;
  const bool is_terminal_;
  const Clock::time_point start_;
  Clock::time_point last_shown_;
  double smoothed_loss_ = 0;
  int64_t updates_ = 0;
  int64_t tokens_ = 0;
  bool bar_drawn_ = false;
};

}  // namespace examples
