#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/variable.h"

namespace heed {

/// What can be done with a rule: a callable of any type that takes the gradient
/// dy of an operation's output, or dy and the output y, and gives a Result.
///
/// A rule that has a member `bool add_to(Tensor& sum, const Variable& dy)
/// const` is given the chance to add the gradient to what has arrived at its
/// input before, instead of making a tensor that is added then. It returns
/// false when it cannot, having changed nothing. Nothing is recorded meanwhile.
template <typename Result>
struct RuleType {
  Result (*call)(const void* rule, const Variable& dy, const Variable& y);
  bool (*add)(const void* rule, Tensor& sum, const Variable& dy);  // or nullptr
  void (*destroy)(void* rule) noexcept;
  size_t size;
  size_t alignment;
  bool wants_output;

  template <typename F>
  static constexpr RuleType of() {
    constexpr bool kWantsOutput =
        std::is_invocable_v<const F&, const Variable&, const Variable&>;
    RuleType type{};
    type.call = [](const void* rule, const Variable& dy, const Variable& y) {
      const F& f = *static_cast<const F*>(rule);
      if constexpr (kWantsOutput) {
        return Result(f(dy, y));
      } else {
        static_cast<void>(y);
        return Result(f(dy));
      }
    };
    if constexpr (requires(const F& f, Tensor& sum, const Variable& dy) {
                    f.add_to(sum, dy);
                  }) {
      type.add = [](const void* rule, Tensor& sum, const Variable& dy) {
        return static_cast<const F*>(rule)->add_to(sum, dy);
      };
    }
    type.destroy = [](void* rule) noexcept { static_cast<F*>(rule)->~F(); };
    type.size = sizeof(F);
    type.alignment = alignof(F);
    type.wants_output = kWantsOutput;
    return type;
  }
};

/// A rule where it stands in a call of record(), which moves it into the graph
/// if it is needed there. As short-lived as that call.
template <typename Result>
class RuleSource {
 public:
  template <typename F>
  requires(!std::is_same_v<std::decay_t<F>, RuleSource>) RuleSource(F&& f)
      : RuleSource(std::forward<F>(f), static_cast<std::decay_t<F>*>(nullptr)) {
  }

  /// False for an empty std::function or a null pointer.
  explicit operator bool() const { return given_; }
  const RuleType<Result>& type() const { return *type_; }
  /// Makes the rule anew at `place`. To be called once.
  void move_to(void* place) const { move_to_(rule_, place); }

 private:
  template <typename F, typename Stored>
  RuleSource(F&& f, Stored*) : type_(&kType<Stored>) {
    using Source = std::remove_reference_t<F>;
    if constexpr (std::is_function_v<Source>) {
      rule_ = reinterpret_cast<void*>(&f);
      move_to_ = [](void* from, void* to) {
        new (to) Stored(reinterpret_cast<Stored>(from));
      };
    } else {
      rule_ = const_cast<void*>(static_cast<const void*>(std::addressof(f)));
      move_to_ = [](void* from, void* to) {
        new (to) Stored(std::forward<F>(*static_cast<Source*>(from)));
      };
      if constexpr (
          std::is_constructible_v<Stored, std::nullptr_t> &&
          std::is_constructible_v<bool, const Stored&>) {
        given_ = static_cast<bool>(f);
      }
    }
  }

  template <typename F>
  static constexpr RuleType<Result> kType = RuleType<Result>::template of<F>();

  const RuleType<Result>* type_;
  void* rule_;
  void (*move_to_)(void* from, void* to);
  bool given_ = true;
};

/// A rule in the memory of its node, which lends it the room.
template <typename Result>
class Rule {
 public:
  Rule() = default;
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;
  ~Rule() { reset(); }

  void set(const RuleSource<Result>& source, void* room) {
    source.move_to(room);
    type_ = &source.type();
    rule_ = room;
  }

  explicit operator bool() const { return type_ != nullptr; }
  Result operator()(const Variable& dy, const Variable& y) const {
    return type_->call(rule_, dy, y);
  }
  /// See RuleType.
  bool add_to(Tensor& sum, const Variable& dy) const {
    return type_->add != nullptr && type_->add(rule_, sum, dy);
  }
  void reset() {
    if (type_ != nullptr) {
      std::exchange(type_, nullptr)->destroy(rule_);
    }
  }

 private:
  const RuleType<Result>* type_ = nullptr;
  void* rule_ = nullptr;
};

}  // namespace heed
