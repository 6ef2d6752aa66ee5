#include "optim/adam.h"

#include <cmath>

#include "optim/for_each_row.h"
#include "tensor/error.h"

namespace heed {
namespace {

template <typename T>
struct Row {
  int64_t numel;
  T* w;
  T* m;
  T* v;
  T* v_max;  // nullptr without amsgrad
  const T* grad;
  T beta1, beta2;
  T take1, take2;  // 1 - beta1, 1 - beta2
  T step_size;     // lr / (1 - beta1^t)
  T root_scale;    // 1 / sqrt(1 - beta2^t)
  T eps;
  T penalty;  // of L2, times w added to the gradient
  T keep;     // what decoupled decay leaves of w
};

// The three choices are constants: each loop is straight-line code, and w does
// not enter g without a penalty (an infinite weight times 0 would be NaN).
template <bool kPenalty, bool kAmsgrad, typename T>
void update_row(const Row<T>& row, int64_t begin, int64_t end) {
  const Row<T> r = row;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    T g = r.grad[i];
    if constexpr (kPenalty) {
      g += r.penalty * r.w[i];
    }
    const T m = r.beta1 * r.m[i] + r.take1 * g;
    const T v = r.beta2 * r.v[i] + r.take2 * g * g;
    r.m[i] = m;
    r.v[i] = v;
    T under_root = v;
    if constexpr (kAmsgrad) {
      const T largest = r.v_max[i];
      under_root = largest > v ? largest : v;  // NaN if v is
      r.v_max[i] = under_root;
    }
    const T denominator = std::sqrt(under_root) * r.root_scale + r.eps;
    r.w[i] = r.keep * r.w[i] - r.step_size * m / denominator;
  }
}

template <typename T>
void update_row(const Row<T>& row, int64_t begin, int64_t end) {
  if (row.v_max == nullptr) {
    row.penalty == 0 ? update_row<false, false>(row, begin, end)
                     : update_row<true, false>(row, begin, end);
  } else {
    row.penalty == 0 ? update_row<false, true>(row, begin, end)
                     : update_row<true, true>(row, begin, end);
  }
}

enum class Decay { penalty, decoupled };

template <typename Update, typename Options>
void update_all(
    const std::vector<Update>& updates,
    const std::vector<Options>& options,
    Decay decay) {
  const auto of_type = [&]<typename T>(TypeTag<T>) {
    std::vector<Row<T>> rows;
    for (const Update& u : updates) {
      if (u.value.dtype() != dtype_of<T>) {
        continue;
      }
      const Options& o = options[u.group];
      const auto [beta1, beta2] = o.betas;
      const double t = static_cast<double>(u.step);
      const bool decoupled = decay == Decay::decoupled;
      Tensor value = u.value;
      rows.push_back(
          {.numel = value.numel(),
           .w = value.template mutable_data<T>(),
           .m = u.state[0].template mutable_data<T>(),
           .v = u.state[1].template mutable_data<T>(),
           .v_max = o.amsgrad ? u.state[2].template mutable_data<T>() : nullptr,
           .grad = u.grad.template data<T>(),
           .beta1 = static_cast<T>(beta1),
           .beta2 = static_cast<T>(beta2),
           .take1 = static_cast<T>(1 - beta1),
           .take2 = static_cast<T>(1 - beta2),
           .step_size = static_cast<T>(u.lr / (1 - std::pow(beta1, t))),
           .root_scale = static_cast<T>(1 / std::sqrt(1 - std::pow(beta2, t))),
           .eps = static_cast<T>(o.eps),
           .penalty = static_cast<T>(decoupled ? 0 : o.weight_decay),
           .keep = static_cast<T>(decoupled ? 1 - u.lr * o.weight_decay : 1)});
    }
    for_each_row(rows, /*cost=*/4, [](const Row<T>& r, int64_t b, int64_t e) {
      update_row(r, b, e);
    });
  };
  of_type(TypeTag<float>{});
  of_type(TypeTag<double>{});
}

template <typename Options, typename Check>
void check_options(const Options& o, const Check& check) {
  const auto is_beta = [](double x) { return x >= 0 && x < 1; };
  const auto in_range = [](double x) { return std::isfinite(x) && x >= 0; };
  check(is_beta(o.betas.first), "betas must be in [0, 1)", o.betas.first);
  check(is_beta(o.betas.second), "betas must be in [0, 1)", o.betas.second);
  check(in_range(o.eps), "eps must be finite and >= 0", o.eps);
  check(
      in_range(o.weight_decay),
      "weight_decay must be finite and >= 0",
      o.weight_decay);
}

std::vector<std::string> names(bool amsgrad) {
  std::vector<std::string> result = {"exp_avg", "exp_avg_sq"};
  if (amsgrad) {
    result.push_back("max_exp_avg_sq");
  }
  return result;
}

}  // namespace

Adam::Adam(std::vector<Variable> parameters, AdamOptions options)
    : Adam({ParameterGroup<AdamOptions>{std::move(parameters), options}}) {}

Adam::Adam(const std::vector<ParameterGroup<AdamOptions>>& groups)
    : Optimizer("Adam", groups) {
  for (const auto& [parameters, options] : groups) {
    check_options(options, [this](auto... args) { check_option(args...); });
    options_.push_back(options);
  }
}

std::vector<std::string> Adam::state_names(size_t group) const {
  return names(options_[group].amsgrad);
}

void Adam::update(const std::vector<Update>& updates) {
  update_all(updates, options_, Decay::penalty);
}

AdamW::AdamW(std::vector<Variable> parameters, AdamWOptions options)
    : AdamW({ParameterGroup<AdamWOptions>{std::move(parameters), options}}) {}

AdamW::AdamW(const std::vector<ParameterGroup<AdamWOptions>>& groups)
    : Optimizer("AdamW", groups) {
  for (const auto& [parameters, options] : groups) {
    check_options(options, [this](auto... args) { check_option(args...); });
    options_.push_back(options);
  }
}

std::vector<std::string> AdamW::state_names(size_t group) const {
  return names(options_[group].amsgrad);
}

void AdamW::update(const std::vector<Update>& updates) {
  update_all(updates, options_, Decay::decoupled);
}

}  // namespace heed
