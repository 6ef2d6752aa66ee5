#include "optim/sgd.h"

#include <cmath>
#include <utility>

#include "optim/for_each_row.h"
#include "tensor/error.h"
#include "tensor/simd.h"

namespace heed {
namespace {

template <typename T>
struct Row {
  int64_t numel;
  T* w;
  T* v;  // nullptr without momentum
  const T* grad;
  T lr;
  T momentum;
  T take;  // the share of g that enters v
  T weight_decay;
  bool nesterov;
};

// How far w moves is move(i, g), lr apart. Without decay w does not enter g: an
// infinite weight does not make its gradient NaN.
template <typename T, typename Move>
void descend(const Row<T>& row, int64_t begin, int64_t end, const Move& move) {
  T* const w = row.w;
  const T* const grad = row.grad;
  const T lr = row.lr;
  const T decay = row.weight_decay;
  if (decay == 0) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      w[i] -= lr * move(i, grad[i]);
    }
  } else {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      w[i] -= lr * move(i, grad[i] + decay * w[i]);
    }
  }
}

template <typename T>
void update_row(const Row<T>* of, int64_t begin, int64_t end) {
  const Row<T>& row = *of;
  T* const v = row.v;
  const T momentum = row.momentum;
  const T take = row.take;
  if (v == nullptr) {
    descend(row, begin, end, [](int64_t, T g) { return g; });
  } else if (row.nesterov) {
    descend(row, begin, end, [=](int64_t i, T g) {
      v[i] = momentum * v[i] + take * g;
      return g + momentum * v[i];
    });
  } else {
    descend(row, begin, end, [=](int64_t i, T g) {
      return v[i] = momentum * v[i] + take * g;
    });
  }
}

}  // namespace

SGD::SGD(std::vector<Variable> parameters, SGDOptions options)
    : SGD({ParameterGroup<SGDOptions>{std::move(parameters), options}}) {}

SGD::SGD(const std::vector<ParameterGroup<SGDOptions>>& groups)
    : Optimizer("SGD", groups) {
  for (const auto& [parameters, options] : groups) {
    const auto in_range = [](double x) { return std::isfinite(x) && x >= 0; };
    check_option(
        in_range(options.momentum),
        "momentum must be finite and >= 0",
        options.momentum);
    check_option(
        std::isfinite(options.dampening),
        "dampening must be finite",
        options.dampening);
    check_option(
        in_range(options.weight_decay),
        "weight_decay must be finite and >= 0",
        options.weight_decay);
    if (options.nesterov && !(options.momentum > 0 && options.dampening == 0)) {
      fail(
          who(),
          "nesterov must have momentum > 0 and dampening 0, got ",
          options.momentum,
          " and ",
          options.dampening);
    }
    options_.push_back(options);
  }
}

std::vector<std::string> SGD::state_names(size_t group) const {
  return options_[group].momentum > 0
             ? std::vector<std::string>{"momentum_buffer"}
             : std::vector<std::string>{};
}

void SGD::update(const std::vector<Update>& updates) {
  const auto update_all = [&]<typename T>(TypeTag<T>) {
    const auto rows = rows_of<T>(updates, [&](const Update& u) {
      const SGDOptions& o = options_[u.group];
      return Row<T>{
          .numel = u.numel,
          .w = u.values<T>(),
          .v = o.momentum > 0 ? u.state<T>(0) : nullptr,
          .grad = u.grads<T>(),
          .lr = static_cast<T>(u.lr),
          .momentum = static_cast<T>(o.momentum),
          .take = static_cast<T>(u.step == 1 ? 1 : 1 - o.dampening),
          .weight_decay = static_cast<T>(o.weight_decay),
          .nesterov = o.nesterov};
    });
    for_each_row(
        rows,
        /*cost=*/2,
        [](const Row<T>& row, int64_t begin, int64_t end, int64_t) {
          simd::call<update_row<T>>(&row, begin, end);
        });
  };
  update_all(TypeTag<float>{});
  update_all(TypeTag<double>{});
}

}  // namespace heed
