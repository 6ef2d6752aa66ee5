#pragma once

#include <heed/heed.h>

#include <functional>
#include <string>

#include "bench/training_loop.h"

namespace bench {

/// The training of a heed model; `loss` computes it on the next batch.
Training heed_training(
    const std::string& workload,
    const heed::Module& model,
    heed::Optimizer& optimizer,
    const std::function<heed::Variable()>& loss,
    double tokens);

}  // namespace bench
