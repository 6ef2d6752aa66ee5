#include "autograd/print.h"

#include <ostream>
#include <string>

namespace heed {

std::ostream& operator<<(std::ostream& out, const Variable& x) {
  if (!x.defined()) {
    return out << Tensor();
  }
  std::string notes;
  if (x.op_name() != nullptr) {
    notes = std::string(", op=") + x.op_name();
  } else if (x.requires_grad()) {
    notes = ", requires_grad=true";
  }
  return out << to_string(x.value(), {}, notes);
}

}  // namespace heed
