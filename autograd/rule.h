#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/variable.h"

namespace heed {

/// How the gradient dy of an operation's output leads to the gradient of one of
/// its inputs: a callable (dy) or (dy, y), y being the output. Held inline when
/// it is small, as rules are. Move-only.
class Rule {
 public:
  Rule() = default;

  template <typename F>
  requires(!std::is_same_v<std::decay_t<F>, Rule>) Rule(F&& f)
      : operations_(&kOperations<std::decay_t<F>>) {
    using Function = std::decay_t<F>;
    if constexpr (kFits<Function>) {
      new (buffer_) Function(std::forward<F>(f));
    } else {
      new (buffer_) Function*(new Function(std::forward<F>(f)));
    }
  }
  Rule(Rule&& other) noexcept
      : operations_(std::exchange(other.operations_, nullptr)) {
    if (operations_ != nullptr) {
      operations_->move(other.buffer_, buffer_);
    }
  }
  Rule& operator=(Rule&& other) noexcept {
    if (this != &other) {
      this->~Rule();
      new (this) Rule(std::move(other));
    }
    return *this;
  }
  ~Rule() {
    if (operations_ != nullptr) {
      operations_->destroy(buffer_);
    }
  }

  explicit operator bool() const { return operations_ != nullptr; }
  /// Whether the output must be there when the rule is called.
  bool wants_output() const { return operations_->wants_output; }
  Variable operator()(const Variable& dy, const Variable& y) const {
    return operations_->call(buffer_, dy, y);
  }

 private:
  static constexpr size_t kInlineBytes = 56;

  struct Operations {
    Variable (*call)(const std::byte*, const Variable&, const Variable&);
    void (*move)(std::byte* from, std::byte* to) noexcept;
    void (*destroy)(std::byte*) noexcept;
    bool wants_output;
  };

  template <typename F>
  static constexpr bool kFits = sizeof(F) <= kInlineBytes &&
                                alignof(F) <= alignof(std::max_align_t) &&
                                std::is_nothrow_move_constructible_v<F>;

  template <typename F>
  static F& get(std::byte* buffer) {
    if constexpr (kFits<F>) {
      return *std::launder(reinterpret_cast<F*>(buffer));
    } else {
      return **std::launder(reinterpret_cast<F**>(buffer));
    }
  }

  template <typename F>
  static constexpr bool kWantsOutput =
      std::is_invocable_v<const F&, const Variable&, const Variable&>;

  template <typename F>
  static constexpr Operations kOperations = {
      [](const std::byte* buffer, const Variable& dy, const Variable& y) {
        const F& f = get<F>(const_cast<std::byte*>(buffer));
        if constexpr (kWantsOutput<F>) {
          return Variable(f(dy, y));
        } else {
          return Variable(f(dy));
        }
      },
      [](std::byte* from, std::byte* to) noexcept {
        if constexpr (kFits<F>) {
          new (to) F(std::move(get<F>(from)));
          get<F>(from).~F();
        } else {
          new (to) F*(&get<F>(from));
        }
      },
      [](std::byte* buffer) noexcept {
        if constexpr (kFits<F>) {
          get<F>(buffer).~F();
        } else {
          delete &get<F>(buffer);
        }
      },
      kWantsOutput<F>,
  };

  const Operations* operations_ = nullptr;
  alignas(std::max_align_t) std::byte buffer_[kInlineBytes];
};

/// A rule that gives the gradients of all inputs together, in their order; an
/// undefined one means zero. A callable (dy) or (dy, y).
class JointRule {
 public:
  JointRule() = default;

  template <typename F>
  requires(!std::is_same_v<std::decay_t<F>, JointRule>) JointRule(F&& f)
      : implementation_(
            std::make_unique<Holder<std::decay_t<F>>>(std::forward<F>(f))) {}

  explicit operator bool() const { return implementation_ != nullptr; }
  bool wants_output() const { return implementation_->wants_output(); }
  std::vector<Variable> operator()(
      const Variable& dy, const Variable& y) const {
    return implementation_->call(dy, y);
  }

 private:
  struct Interface {
    virtual ~Interface() = default;
    virtual bool wants_output() const = 0;
    virtual std::vector<Variable> call(
        const Variable& dy, const Variable& y) const = 0;
  };

  template <typename F>
  struct Holder final : Interface {
    explicit Holder(F f) : function(std::move(f)) {}
    static constexpr bool kWantsOutput =
        std::is_invocable_v<const F&, const Variable&, const Variable&>;
    bool wants_output() const override { return kWantsOutput; }
    std::vector<Variable> call(
        const Variable& dy, const Variable& y) const override {
      if constexpr (kWantsOutput) {
        return function(dy, y);
      } else {
        return function(dy);
      }
    }
    F function;
  };

  std::unique_ptr<Interface> implementation_;
};

}  // namespace heed
