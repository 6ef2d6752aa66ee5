#include <heed/heed.h>

#include <cstdio>
#include <iostream>
#include <string>

// A generic name of the program's own, which heed's headers must not shadow.
#include "tensor/shape.h"

int main() {
  const heed::Tensor x = heed::ones({4, 3});
  const heed::Tensor y = heed::zeros({4, 2});
  heed::Linear model(3, 2);
  heed::SGD optimizer(model.parameters(), {.lr = 0.1});
  const auto train = [&] {
    optimizer.zero_grad();
    const heed::Variable loss = heed::mse_loss(model(x), y);
    loss.backward();
    optimizer.step();
    return loss.item<double>();
  };
  const double before = train();
  const double after = train();
  std::cout << "loss " << before << ", then " << after << '\n';

  const std::string path = "consumer.safetensors";
  heed::save_safetensors(path, model.state_dict());
  model.load_state_dict(heed::load_safetensors(path).tensors);
  std::remove(path.c_str());
  return after < before ? shape_of_the_consumer : 1;
}
