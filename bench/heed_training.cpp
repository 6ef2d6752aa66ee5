#include "bench/heed_training.h"

#include <memory>

namespace bench {

Training heed_training(
    const std::string& workload,
    const heed::Module& model,
    heed::Optimizer& optimizer,
    const std::function<heed::Variable()>& loss,
    double tokens) {
  const auto current = std::make_shared<heed::Variable>();
  return {
      .workload = workload,
      .impl = "nn",
      .forward =
          [=] {
            *current = loss();
            return current->item<double>();
          },
      .backward =
          [=, &optimizer] {
            optimizer.zero_grad();
            current->backward();
            *current = heed::Variable();
          },
      .update = [&optimizer] { optimizer.step(); },
      .parameters = model.num_parameters(),
      .tokens = tokens};
}

}  // namespace bench
