#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/module.h"

namespace heed {

/// Layers one behind the other, registered as "0", "1", ...
///
///     Sequential net;
///     net.add<Linear>(2, 16);
///     net.add<Activation>(ActivationKind::tanh);
///     net.add<Linear>(16, 1);
class Sequential : public Layer {
 public:
  /// Adds the layer L(args...) and returns it.
  template <typename L, typename... Args>
  L& add(Args&&... args) {
    auto layer = make<L>(std::forward<Args>(args)...);
    L& added = *layer;
    push_back(std::move(layer));
    return added;
  }
  /// Takes a layer over. Throws std::invalid_argument for a null pointer.
  void push_back(std::unique_ptr<Layer> layer);

  int64_t size() const { return static_cast<int64_t>(layers_.size()); }
  Variable forward(const Variable& x) const override;
  std::string describe() const override;

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace heed
