#include "nn/sequential.h"

namespace heed {

void Sequential::push_back(std::unique_ptr<Layer> layer) {
  if (layer == nullptr) {
    fail("Sequential", "a layer must be given, got a null pointer");
  }
  layers_.push_back(std::move(layer));
  take_module(std::to_string(layers_.size() - 1), *layers_.back());
}

Variable Sequential::forward(const Variable& x) const {
  Variable y = x;
  for (const std::unique_ptr<Layer>& layer : layers_) {
    y = layer->forward(y);
  }
  return y;
}

std::string Sequential::describe() const {
  return "Sequential(" + std::to_string(size()) + ")";
}

}  // namespace heed
