// Tells three interleaved spirals apart, in mini-batches, and draws what the
// network thinks of the plane.
#include <heed/heed.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace heed;

namespace {

constexpr int64_t kClasses = 3;
constexpr int64_t kPerClass = 200;

struct Points {
  Tensor x;  // [N, 2]
  Tensor y;  // int64 [N]
};

// Class c is an arm that winds outwards from the middle.
Points make_spirals() {
  const Tensor noise = randn({kClasses * kPerClass}) * 0.15;
  std::vector<float> x;
  std::vector<int64_t> y;
  for (int64_t c = 0; c < kClasses; ++c) {
    for (int64_t i = 0; i < kPerClass; ++i) {
      const double t = static_cast<double>(i) / kPerClass;
      const double angle = 4 * t +
                           2 * M_PI * static_cast<double>(c) / kClasses +
                           noise[c * kPerClass + i].item<double>();
      x.push_back(static_cast<float>(t * std::cos(angle)));
      x.push_back(static_cast<float>(t * std::sin(angle)));
      y.push_back(c);
    }
  }
  const auto n = static_cast<int64_t>(y.size());
  return {from_vector(x, {n, 2}), from_vector(y, {n})};
}

double accuracy(const Sequential& net, const Points& points) {
  const NoGradGuard no_grad;
  const Tensor guess = argmax(net(points.x).value(), -1);
  return mean(eq(guess, points.y).to(kFloat64)).item<double>();
}

// The class of each point of the plane, as a letter.
void draw_plane(const Sequential& net) {
  constexpr int64_t kRows = 20;
  constexpr int64_t kColumns = 48;
  std::vector<float> grid;
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      grid.push_back(2.0f * static_cast<float>(column) / (kColumns - 1) - 1);
      grid.push_back(1 - 2.0f * static_cast<float>(row) / (kRows - 1));
    }
  }
  const NoGradGuard no_grad;
  const Tensor classes =
      argmax(net(from_vector(grid, {kRows * kColumns, 2})).value(), -1);
  for (int64_t row = 0; row < kRows; ++row) {
    std::string line;
    for (int64_t column = 0; column < kColumns; ++column) {
      line += ".o#"[classes[row * kColumns + column].item<int64_t>()];
    }
    std::printf("%s\n", line.c_str());
  }
}

}  // namespace

int main() {
  manual_seed(1);
  const Points points = make_spirals();
  const int64_t n = points.y.numel();

  Sequential net;
  net.add<Linear>(2, 64);
  net.add<Activation>(ActivationKind::relu);
  net.add<Linear>(64, 64);
  net.add<Activation>(ActivationKind::relu);
  net.add<Linear>(64, kClasses);
  std::printf("%s\n", net.summary().c_str());

  constexpr int64_t kBatch = 50;
  constexpr int64_t kEpochs = 60;
  AdamW optimizer(net.parameters(), {.lr = 1e-2});
  const Schedule schedule =
      Schedule::cosine(1e-2, 0, kEpochs * n / kBatch, {.warmup_steps = 20});
  for (int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    const Tensor order = randperm(n);
    double loss_sum = 0;
    for (int64_t first = 0; first < n; first += kBatch) {
      const Tensor rows = order.slice(0, first, first + kBatch);
      optimizer.zero_grad();
      const Variable loss = cross_entropy(
          net(index_select(points.x, 0, rows)),
          index_select(points.y, 0, rows));
      loss.backward();
      optimizer.set_lr(schedule.lr(optimizer.steps() + 1));
      optimizer.step();
      loss_sum += loss.item<double>() * static_cast<double>(rows.numel());
    }
    if (epoch % 10 == 0) {
      std::printf(
          "epoch %lld  loss %.4f  accuracy %.3f\n",
          static_cast<long long>(epoch),
          loss_sum / static_cast<double>(n),
          accuracy(net, points));
    }
  }
  draw_plane(net);
  return accuracy(net, points) > 0.97 ? 0 : 1;
}
