#include "nn/feed_forward.h"

namespace heed {

FeedForward::FeedForward(
    int64_t d_model, int64_t d_ff, const FeedForwardOptions& options)
    : linear1_(d_model, d_ff, {options.bias, options.dtype, options.generator}),
      activation_(options.activation),
      dropout_({options.dropout, options.generator}),
      linear2_(
          d_ff, d_model, {options.bias, options.dtype, options.generator}) {
  add_module("linear1", linear1_);
  add_module("activation", activation_);
  add_module("dropout", dropout_);
  add_module("linear2", linear2_);
}

Variable FeedForward::forward(const Variable& x) const {
  const Variable hidden =
      activation_.forward(linear1_(x), dropout_);  // [..., d_ff]
  return linear2_(hidden);
}

}  // namespace heed
