#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/module.h"

namespace heed {

/// Owns modules of one kind, registered as "0", "1", ...
template <typename T>
class ModuleList : public Module {
 public:
  /// Takes the module over and returns it.
  T& push_back(std::unique_ptr<T> module) {
    if (module == nullptr) {
      fail("ModuleList", "a module must be given, got a null pointer");
    }
    modules_.push_back(std::move(module));
    take_module(std::to_string(modules_.size() - 1), *modules_.back());
    return *modules_.back();
  }
  /// Makes the module T(args...) in place and returns it.
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    return push_back(Module::make<T>(std::forward<Args>(args)...));
  }

  int64_t size() const { return static_cast<int64_t>(modules_.size()); }
  /// Throws std::invalid_argument unless 0 <= i < size().
  T& operator[](int64_t i) const {
    if (i < 0 || i >= size()) {
      fail("ModuleList", "index must be in [0, ", size(), "), got ", i);
    }
    return *modules_[static_cast<size_t>(i)];
  }
  std::string describe() const override {
    return "ModuleList(" + std::to_string(size()) + ")";
  }

 private:
  std::vector<std::unique_ptr<T>> modules_;
};

}  // namespace heed
