#pragma once

#include <string>
#include <utility>
#include <vector>

#include "optim/optimizer.h"

namespace heed {

/// The paper of the Transformer has betas (0.9, 0.98) and eps 1e-9.
struct AdamOptions {
  double lr = 1e-3;
  std::pair<double, double> betas = {0.9, 0.999};  ///< Each in [0, 1).
  double eps = 1e-8;        ///< Added to the root, bias corrected; >= 0.
  double weight_decay = 0;  ///< L2 penalty, added to the gradient; >= 0.
  bool amsgrad = false;     ///< Divide by the largest second moment so far.
  double lr_scale = 1;      ///< Multiplies every rate the group is given.
};

struct AdamWOptions {
  double lr = 1e-3;
  std::pair<double, double> betas = {0.9, 0.999};  ///< Each in [0, 1).
  double eps = 1e-8;           ///< Added to the root, bias corrected; >= 0.
  double weight_decay = 0.01;  ///< Share of w taken off, times lr; >= 0.
  bool amsgrad = false;        ///< Divide by the largest second moment so far.
  double lr_scale = 1;         ///< Multiplies every rate the group is given.
};

/// Adam (Kingma & Ba 2015, arXiv:1412.6980), update t counted from 1:
///
///     g = grad + weight_decay * w
///     m = beta1 * m + (1 - beta1) * g
///     v = beta2 * v + (1 - beta2) * g^2
///     w = w - lr * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
///
/// With amsgrad (Reddi et al. 2018, arXiv:1904.09237) the largest v so far
/// stands under the root. State: exp_avg (m), exp_avg_sq (v), with amsgrad
/// max_exp_avg_sq; the moments are stored without bias correction.
class Adam : public Optimizer {
 public:
  /// Throws std::invalid_argument as Optimizer says.
  explicit Adam(std::vector<Variable> parameters, AdamOptions options = {});
  explicit Adam(const std::vector<ParameterGroup<AdamOptions>>& groups);

 protected:
  std::vector<std::string> state_names(size_t group) const override;
  void update(const std::vector<Update>& updates) override;

 private:
  std::vector<AdamOptions> options_;  // of each group
};

/// Adam with decoupled weight decay (Loshchilov & Hutter 2019,
/// arXiv:1711.05101): the decay is no part of the gradient,
///
///     w = w - lr * weight_decay * w
///
/// before Adam's update. A weight whose gradient is 0 shrinks nevertheless, and
/// a weight of 0 without any gradient, as an embedding's padding row, stays 0.
class AdamW : public Optimizer {
 public:
  /// Throws std::invalid_argument as Optimizer says.
  explicit AdamW(std::vector<Variable> parameters, AdamWOptions options = {});
  explicit AdamW(const std::vector<ParameterGroup<AdamWOptions>>& groups);

 protected:
  std::vector<std::string> state_names(size_t group) const override;
  void update(const std::vector<Update>& updates) override;

 private:
  std::vector<AdamWOptions> options_;  // of each group
};

}  // namespace heed
