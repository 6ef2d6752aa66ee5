#include "nn/dropout.h"

#include <sstream>

#include "autograd/dropout.h"

namespace heed {

Dropout::Dropout(const DropoutOptions& options)
    : p_(options.p), generator_(options.generator) {
  if (!(p_ >= 0 && p_ <= 1)) {
    fail("Dropout", "p must be in [0, 1], got ", p_);
  }
}

Variable Dropout::forward(const Variable& x) const {
  return is_training() && p_ > 0 ? dropout(x, p_, generator_) : x;
}

std::string Dropout::describe() const {
  std::ostringstream out;
  out << "Dropout(p=" << p_ << ')';
  return out.str();
}

}  // namespace heed
