#include "autograd/triangular.h"

#include "autograd/record.h"

namespace heed {

Variable tril(const Variable& x, int64_t diagonal) {
  return record(
      "tril",
      tril(x.value(), diagonal),
      {{x, [diagonal](const Variable& dy) { return tril(dy, diagonal); }}});
}

Variable triu(const Variable& x, int64_t diagonal) {
  return record(
      "triu",
      triu(x.value(), diagonal),
      {{x, [diagonal](const Variable& dy) { return triu(dy, diagonal); }}});
}

}  // namespace heed
