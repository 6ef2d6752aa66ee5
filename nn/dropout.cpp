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
  const DropoutDraw settled = draw(x.numel());
  return dropout(x, settled.p, settled.start);
}

DropoutDraw Dropout::draw(int64_t n) const {
  if (!is_training() || p_ == 0) {
    return {};
  }
  return {p_, generator_.reserve(n)};
}

std::string Dropout::describe() const {
  std::ostringstream out;
  out << "Dropout(p=" << p_ << ')';
  return out.str();
}

}  // namespace heed
