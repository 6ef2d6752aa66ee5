#include "examples/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace examples {
namespace {

constexpr int kBarWidth = 24;        // at most
constexpr double kLineEvery = 2.0;   // seconds between plain lines
constexpr double kDrawEvery = 0.08;  // seconds between drawings of the bar

double seconds_between(auto from, auto to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Characters of a line of the terminal.
int terminal_width() {
  winsize size{};
  const bool known =
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace

Progress::Progress(int64_t total_steps, int64_t first_step)
    : total_steps_(total_steps),
      first_step_(first_step),
      is_terminal_(isatty(STDOUT_FILENO) == 1),
      start_(Clock::now()),
      last_shown_(start_ - std::chrono::hours(1)) {}

Progress::~Progress() {
  if (bar_drawn_) {
    std::printf("\n");
  }
}

double Progress::seconds() const {
  return seconds_between(start_, Clock::now());
}

double Progress::tokens_per_second() const {
  return static_cast<double>(tokens_) / std::max(seconds(), 1e-9);
}

void Progress::update(int64_t step, double loss, double lr, int64_t tokens) {
  tokens_ += tokens;
  // The mean of the last fifty losses or so, of all while they are fewer.
  const double weight =
      1.0 / static_cast<double>(std::min<int64_t>(++updates_, 50));
  smoothed_loss_ += weight * (loss - smoothed_loss_);
  const bool last = step == total_steps_;
  const double wait = is_terminal_ ? kDrawEvery : kLineEvery;
  if (!last && seconds_between(last_shown_, Clock::now()) < wait) {
    return;
  }
  last_shown_ = Clock::now();
  if (is_terminal_) {
    draw_bar(step, smoothed_loss_, lr);
  } else {
    print_line(step, smoothed_loss_, lr);
  }
}

void Progress::print(const std::string& line) {
  std::printf("%s%s\n", bar_drawn_ ? "\r\033[K" : "", line.c_str());
  std::fflush(stdout);
}

std::string Progress::time_left(int64_t step) const {
  const int64_t done = std::max<int64_t>(step - first_step_, 1);
  const double each = seconds() / static_cast<double>(done);
  const auto left =
      static_cast<int64_t>(each * static_cast<double>(total_steps_ - step));
  const int64_t minutes = left / 60;
  char text[48];
  if (minutes < 60) {
    std::snprintf(
        text,
        sizeof text,
        "%lld:%02lld",
        static_cast<long long>(minutes),
        static_cast<long long>(left % 60));
  } else {
    std::snprintf(
        text,
        sizeof text,
        "%lld h %02lld",
        static_cast<long long>(minutes / 60),
        static_cast<long long>(minutes % 60));
  }
  return text;
}

std::string Progress::figures(int64_t step, double loss, double lr) const {
  char text[200];
  std::snprintf(
      text,
      sizeof text,
      "%lld/%lld  loss %.4f  lr %.2e  %.0f tokens/s  %s left",
      static_cast<long long>(step),
      static_cast<long long>(total_steps_),
      loss,
      lr,
      tokens_per_second(),
      time_left(step).c_str());
  return text;
}

void Progress::draw_bar(int64_t step, double loss, double lr) {
  // A longer line would wrap, and stay.
  const int columns = terminal_width() - 1;
  std::string text = figures(step, loss, lr);
  text.resize(std::min<size_t>(text.size(), static_cast<size_t>(columns)));
  const int width =
      std::clamp(columns - 1 - static_cast<int>(text.size()), 0, kBarWidth);
  const auto filled = static_cast<int>(
      width * static_cast<double>(step) /
      static_cast<double>(std::max<int64_t>(total_steps_, 1)));
  std::string bar;
  for (int i = 0; i < width; ++i) {
    bar += i < filled ? "█" : "░";
  }
  std::printf(
      "\r\033[K%s%s%s", bar.c_str(), width > 0 ? " " : "", text.c_str());
  std::fflush(stdout);
  bar_drawn_ = true;
}

void Progress::print_line(int64_t step, double loss, double lr) const {
  std::printf("step %s\n", figures(step, loss, lr).c_str());
  std::fflush(stdout);
}

}  // namespace examples
