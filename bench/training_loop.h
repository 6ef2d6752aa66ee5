#pragma once

#include <heed/heed.h>

#include <functional>
#include <string>

#include "bench/report.h"
#include "bench/settings.h"

namespace bench {

struct Training {
  std::string workload;
  const heed::Module& model;
  heed::Optimizer& optimizer;
  /// The loss on the next batch.
  std::function<heed::Variable()> forward;
  double tokens;  // of targets in a batch, on average
};

/// Times steps: forward, the loss read, gradients forgotten, backward, update.
void measure_training(
    const Training& training, const Settings& settings, const Report& report);

}  // namespace bench
