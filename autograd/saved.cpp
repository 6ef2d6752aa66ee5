#include "autograd/saved.h"

#include "autograd/rule_scope.h"

namespace heed {

template <typename T>
void Saved<T>::fail_overwritten(uint32_t saved, uint32_t now) {
  fail<std::logic_error>(
      "backward",
      "a value that \"",
      RuleScope::current(),
      "\" saved was overwritten since (version ",
      now,
      ", saved at version ",
      saved,
      ")");
}

template class Saved<Tensor>;
template class Saved<Variable>;

}  // namespace heed
