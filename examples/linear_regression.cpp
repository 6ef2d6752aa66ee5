// Fits a line to points scattered around y = 3 x - 2.
#include <heed/heed.h>

#include <cstdio>

using namespace heed;

int main() {
  manual_seed(1);
  const Tensor x = rand({100, 1}) * 2 - 1;
  const Tensor y = 3 * x - 2 + 0.1 * randn({100, 1});

  Linear model(1, 1);
  SGD optimizer(model.parameters(), {.lr = 0.5});
  for (int step = 1; step <= 50; ++step) {
    optimizer.zero_grad();
    const Variable loss = mse_loss(model(x), y);
    loss.backward();
    optimizer.step();
    if (step % 10 == 0) {
      std::printf("step %d  loss %.4f\n", step, loss.item<double>());
    }
  }

  const double slope = model.weight().item<double>();
  const double offset = model.bias().item<double>();
  std::printf("y = %.2f x %+.2f\n", slope, offset);
  return slope > 2.9 && slope < 3.1 && offset > -2.1 && offset < -1.9 ? 0 : 1;
}
