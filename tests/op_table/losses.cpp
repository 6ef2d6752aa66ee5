#include "autograd/losses.h"

#include <cmath>

#include "autograd/cross_entropy.h"
#include "tests/op_table.h"

namespace heed::op_table {
namespace {

constexpr int64_t kIgnored = 1;

/// ids for the lines of x along its last dimension.
template <typename T>
Tensor targets_for(const T& x) {
  Dims shape = x.shape();
  shape.erase(shape.size() - 1);
  return ids(Shape(shape), x.size(-1));
}

/// Probabilities 0, 0.25 ... 1 of x's shape and dtype.
template <typename T>
Tensor probabilities_for(const T& x) {
  Tensor t(x.shape(), x.dtype());
  t.copy_(ids(x.shape(), 5).to(x.dtype()));
  return is_floating(t.dtype()) ? t.mul_(0.25) : t;
}

/// loss(line, target) of each line with the targets above.
using LineLoss = double (*)(const std::vector<double>& line, int64_t target);

Reference of_lines(LineLoss loss, Reduction reduction, int64_t ignored = -100) {
  return [=](const Arrays& in) -> Arrays {
    const Array& x = in[0];
    const int64_t classes = x.size(-1);
    Dims shape = x.shape;
    shape.erase(x.dim() - 1);
    Array losses{Shape(shape), {}};
    double sum = 0;
    double counted = 0;
    for (int64_t i = 0; i < losses.shape.numel(); ++i) {
      const int64_t target = 3 * i % classes;
      const auto start = x.data.begin() + i * classes;
      const double value =
          target == ignored ? 0 : loss({start, start + classes}, target);
      losses.data.push_back(value);
      sum += value;
      counted += target != ignored;
    }
    if (reduction == Reduction::none) {
      return {losses};
    }
    const bool mean = reduction == Reduction::mean && counted > 0;
    return {Array{{}, {mean ? sum / counted : sum}}};
  };
}

double log_sum_exp(const std::vector<double>& line) {
  double sum = 0;
  for (const double v : line) {
    sum += std::exp(v);
  }
  return std::log(sum);
}

double cross_entropy_of(const std::vector<double>& line, int64_t target) {
  return log_sum_exp(line) - line[static_cast<size_t>(target)];
}

double smoothed_by_a_fifth(const std::vector<double>& line, int64_t target) {
  double loss = 0.8 * cross_entropy_of(line, target);
  for (const double v : line) {
    loss += 0.2 / static_cast<double>(line.size()) * (log_sum_exp(line) - v);
  }
  return loss;
}

double nll_of(const std::vector<double>& line, int64_t target) {
  return -line[static_cast<size_t>(target)];
}

/// loss(x, y) element by element, y being the second input or a probability.
Reference of_elements(double (*loss)(double, double), Reduction reduction) {
  return [=](const Arrays& in) -> Arrays {
    Array losses = in[0];
    double sum = 0;
    for (size_t i = 0; i < losses.data.size(); ++i) {
      const double other =
          in.size() > 1 ? in[1].data[i] : static_cast<double>(3 * i % 5) / 4;
      losses.data[i] = loss(in[0].data[i], other);
      sum += losses.data[i];
    }
    if (reduction == Reduction::none) {
      return {losses};
    }
    const double count = static_cast<double>(losses.data.size());
    return {Array{{}, {reduction == Reduction::mean ? sum / count : sum}}};
  };
}

double square_of_difference(double x, double y) { return (x - y) * (x - y); }

double bce_of(double x, double t) {
  const double s = 1 / (1 + std::exp(-x));
  return -(t * std::log(s) + (1 - t) * std::log(1 - s));
}

double bce_with_weight_3(double x, double t) {
  const double s = 1 / (1 + std::exp(-x));
  return -(3 * t * std::log(s) + (1 - t) * std::log(1 - s));
}

}  // namespace

Rows loss_rows() {
  const std::vector<Shapes> logits = {{{3, 4}}, {{5}}, {{2, 3, 2}}, {{0, 3}}};
  const std::vector<Shapes> pairs = {
      {{2, 3}, {2, 3}}, {{}, {}}, {{4}, {4}}, {{0, 3}, {0, 3}}};
  const std::vector<Shapes> elements = {{{2, 3}}, {{}}, {{7}}, {{0, 3}}};
  const std::string cross_entropy_name =
      "cross_entropy(Variable, Tensor, CrossEntropyOptions)";
  const std::string nll_name = "nll_loss(Variable, Tensor, NllOptions)";
  const std::string mse_name = "mse_loss(Variable, Variable, Reduction)";
  const std::string bce_name = "bce_with_logits(Variable, Tensor, BceOptions)";
  return {
      row(
          cross_entropy_name,
          [](auto& in) { return cross_entropy(in[0], targets_for(in[0])); },
          of_lines(cross_entropy_of, Reduction::mean),
          logits),
      row(
          cross_entropy_name + " smoothed, ignoring, mean",
          [](auto& in) {
            return cross_entropy(
                in[0],
                targets_for(in[0]),
                {.ignore_index = kIgnored, .label_smoothing = 0.2});
          },
          of_lines(smoothed_by_a_fifth, Reduction::mean, kIgnored),
          logits),
      row(
          cross_entropy_name + " smoothed, sum",
          [](auto& in) {
            return cross_entropy(
                in[0],
                targets_for(in[0]),
                {.label_smoothing = 0.2, .reduction = Reduction::sum});
          },
          of_lines(smoothed_by_a_fifth, Reduction::sum),
          logits),
      row(
          cross_entropy_name + " ignoring, of each line",
          [](auto& in) {
            return cross_entropy(
                in[0],
                targets_for(in[0]),
                {.ignore_index = kIgnored, .reduction = Reduction::none});
          },
          of_lines(cross_entropy_of, Reduction::none, kIgnored),
          logits),
      row(
          nll_name,
          [](auto& in) { return nll_loss(in[0], targets_for(in[0])); },
          of_lines(nll_of, Reduction::mean),
          logits),
      row(
          nll_name + " ignoring, sum",
          [](auto& in) {
            return nll_loss(
                in[0],
                targets_for(in[0]),
                {.ignore_index = kIgnored, .reduction = Reduction::sum});
          },
          of_lines(nll_of, Reduction::sum, kIgnored),
          logits),
      row(
          mse_name,
          [](auto& in) { return mse_loss(in[0], in[1]); },
          of_elements(square_of_difference, Reduction::mean),
          pairs)
          .refuses({{{2, 3}, {3}}, {{2, 1}, {1, 2}}}),
      row(
          mse_name + " of each element",
          [](auto& in) { return mse_loss(in[0], in[1], Reduction::none); },
          of_elements(square_of_difference, Reduction::none),
          pairs),
      row(
          bce_name,
          [](auto& in) {
            return bce_with_logits(in[0], probabilities_for(in[0]));
          },
          of_elements(bce_of, Reduction::mean),
          elements),
      row(
          bce_name + " weighted, sum",
          [](auto& in) {
            Tensor weight({}, in[0].dtype());
            weight.fill_(3);
            return bce_with_logits(
                in[0],
                probabilities_for(in[0]),
                {.pos_weight = weight, .reduction = Reduction::sum});
          },
          of_elements(bce_with_weight_3, Reduction::sum),
          elements),
  };
}

}  // namespace heed::op_table
