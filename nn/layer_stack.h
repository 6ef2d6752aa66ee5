#pragma once

#include <memory>
#include <string_view>

#include "nn/layer_norm.h"
#include "nn/module_list.h"
#include "nn/transformer_layer_options.h"

namespace heed {

/// What the encoder and the decoder have in common: layers of one kind, ending
/// with a norm when they are norm_first, or as final_norm says.
///
/// Parameters:  layers.0, layers.1, ..., and norm when it ends with one
template <typename Layer>
class LayerStack : public Module {
 protected:
  /// Throws std::invalid_argument in the name of `who` unless num_layers >= 0,
  /// and as the layers do.
  LayerStack(
      std::string_view who,
      int64_t num_layers,
      int64_t d_model,
      int64_t num_heads,
      int64_t d_ff,
      const TransformerLayerOptions& options) {
    if (num_layers < 0) {
      fail(who, "num_layers must be >= 0, got ", num_layers);
    }
    for (int64_t i = 0; i < num_layers; ++i) {
      layers_.emplace_back(d_model, num_heads, d_ff, options);
    }
    add_module("layers", layers_);
    if (options.has_final_norm()) {
      norm_ = std::make_unique<LayerNorm>(d_model, options.norm_options());
      add_module("norm", *norm_);
    }
  }

  int64_t num_layers() const { return layers_.size(); }
  const Layer& layer(int64_t i) const { return layers_[i]; }
  Variable final_norm(const Variable& x) const {
    return norm_ ? (*norm_)(x) : x;
  }

 private:
  ModuleList<Layer> layers_;
  std::unique_ptr<LayerNorm> norm_;
};

}  // namespace heed
