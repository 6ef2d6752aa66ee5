#include "optim/adam.h"

#include <cmath>

#include "optim/for_each_row.h"
#include "tensor/error.h"
#include "tensor/simd.h"

namespace heed {
namespace {

// What all elements of a row are computed with.
template <typename T>
struct Factors {
  T beta1, beta2;
  T one_minus_beta1, one_minus_beta2;
  T step_size;   // lr / (1 - beta1^t)
  T root_scale;  // 1 / sqrt(1 - beta2^t)
  T eps;
  T penalty;  // of L2, times w added to the gradient
  T keep;     // what decoupled decay leaves of w
};

template <typename T>
struct Row {
  int64_t numel;
  T* w;
  T* m;
  T* v;
  T* v_max;  // nullptr without amsgrad
  const T* grad;
  Factors<T> factors;
};

// The two choices are constants: each loop is straight-line code, and w does
// not enter g without a penalty (an infinite weight times 0 would be NaN).
template <bool kPenalty, bool kAmsgrad, typename T>
void update_row(const Row<T>& r, int64_t begin, int64_t end) {
  const Factors<T> k = r.factors;
  T* const w = r.w;
  T* const m = r.m;
  T* const v = r.v;
  T* const v_max = r.v_max;
  const T* const grad = r.grad;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    T g = grad[i];
    if constexpr (kPenalty) {
      g += k.penalty * w[i];
    }
    const T mean = k.beta1 * m[i] + k.one_minus_beta1 * g;
    const T square = k.beta2 * v[i] + k.one_minus_beta2 * g * g;
    m[i] = mean;
    v[i] = square;
    T under_root = square;
    if constexpr (kAmsgrad) {
      const T largest = v_max[i];
      under_root = largest > square ? largest : square;  // NaN if square is
      v_max[i] = under_root;
    }
    const T denominator = std::sqrt(under_root) * k.root_scale + k.eps;
    w[i] = k.keep * w[i] - k.step_size * mean / denominator;
  }
}

template <typename T>
void update_row(const Row<T>* row, int64_t begin, int64_t end) {
  if (row->v_max == nullptr) {
    row->factors.penalty == 0 ? update_row<false, false>(*row, begin, end)
                              : update_row<true, false>(*row, begin, end);
  } else {
    row->factors.penalty == 0 ? update_row<false, true>(*row, begin, end)
                              : update_row<true, true>(*row, begin, end);
  }
}

enum class Decay { penalty, decoupled };

template <typename T, typename Options>
Factors<T> factors_of(const Options& o, Decay decay, double lr, int64_t step) {
  const auto [beta1, beta2] = o.betas;
  const double t = static_cast<double>(step);
  const bool decoupled = decay == Decay::decoupled;
  return {
      .beta1 = static_cast<T>(beta1),
      .beta2 = static_cast<T>(beta2),
      .one_minus_beta1 = static_cast<T>(1 - beta1),
      .one_minus_beta2 = static_cast<T>(1 - beta2),
      .step_size = static_cast<T>(lr / (1 - std::pow(beta1, t))),
      .root_scale = static_cast<T>(1 / std::sqrt(1 - std::pow(beta2, t))),
      .eps = static_cast<T>(o.eps),
      .penalty = static_cast<T>(decoupled ? 0 : o.weight_decay),
      .keep = static_cast<T>(decoupled ? 1 - lr * o.weight_decay : 1)};
}

template <typename Update, typename Options>
void update_all(
    const std::vector<Update>& updates,
    const std::vector<Options>& options,
    Decay decay) {
  const auto of_type = [&]<typename T>(TypeTag<T>) {
    Factors<T> factors{};
    const Update* before = nullptr;
    const auto rows = rows_of<T>(updates, [&](const Update& u) {
      const Options& o = options[u.group];
      // Most often those of the parameter before.
      if (before == nullptr || u.group != before->group ||
          u.step != before->step) {
        factors = factors_of<T>(o, decay, u.lr, u.step);
      }
      before = &u;
      return Row<T>{
          .numel = u.numel,
          .w = u.template values<T>(),
          .m = u.template state<T>(0),
          .v = u.template state<T>(1),
          .v_max = o.amsgrad ? u.template state<T>(2) : nullptr,
          .grad = u.template grads<T>(),
          .factors = factors};
    });
    for_each_row(
        rows,
        /*cost=*/4,
        [](const Row<T>& row, int64_t begin, int64_t end, int64_t) {
          simd::call<update_row<T>>(&row, begin, end);
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
