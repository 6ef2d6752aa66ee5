#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench/report.h"
#include "bench/settings.h"

namespace bench {

/// A training step, in parts.
struct Training {
  std::string workload;
  std::string impl;
  std::function<double()> forward;  // returns the loss on the next batch
  std::function<void()> backward;   // forgets the gradients before
  std::function<void()> update;
  int64_t parameters;
  double tokens;  // of targets in a batch, on average
};

void measure_training(
    const Training& training, const Settings& settings, const Report& report);

}  // namespace bench
