// Learns "exclusive or", which no single line can separate, with one hidden
// layer.
#include <heed/heed.h>

#include <cstdio>

using namespace heed;

int main() {
  manual_seed(1);
  const Tensor x = tensor({{0., 0.}, {0., 1.}, {1., 0.}, {1., 1.}});
  const Tensor y = tensor({{0.}, {1.}, {1.}, {0.}});

  Sequential net;
  net.add<Linear>(2, 8);
  net.add<Activation>(ActivationKind::tanh);
  net.add<Linear>(8, 1);

  Adam optimizer(net.parameters(), {.lr = 0.05});
  for (int step = 1; step <= 200; ++step) {
    optimizer.zero_grad();
    const Variable loss = bce_with_logits(net(x), y);
    loss.backward();
    optimizer.step();
    if (step % 50 == 0) {
      std::printf("step %d  loss %.4f\n", step, loss.item<double>());
    }
  }

  const NoGradGuard no_grad;
  const Tensor probability = sigmoid(net(x)).value();
  bool learned = true;
  for (int64_t i = 0; i < 4; ++i) {
    const auto p = probability[i].item<double>();
    const auto wanted = y[i].item<double>();
    std::printf(
        "%.0f xor %.0f = %.3f\n",
        x[i][0].item<double>(),
        x[i][1].item<double>(),
        p);
    learned = learned && (p > 0.5) == (wanted > 0.5);
  }
  return learned ? 0 : 1;
}
