#pragma once

#include "autograd/saved.h"
#include "tensor/attention.h"

namespace heed {

/// The options of an attention as its rule keeps them: reading them throws
/// std::logic_error when a mask was overwritten since.
class SavedAttentionOptions {
 public:
  explicit SavedAttentionOptions(const AttentionOptions& options)
      : options_(options),
        padding_(options.mask.padding),
        hidden_(options.mask.hidden),
        added_(options.mask.added) {}

  const AttentionOptions& get() const {
    padding_.get();
    hidden_.get();
    added_.get();
    return options_;
  }

 private:
  AttentionOptions options_;
  Saved<Tensor> padding_;
  Saved<Tensor> hidden_;
  Saved<Tensor> added_;
};

}  // namespace heed
