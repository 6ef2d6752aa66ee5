#pragma once

#include <pthread.h>

#include <mutex>

namespace heed {

/// A T for each thread of the program, so that what every operation counts or
/// caches needs neither a lock nor an atomic read-modify-write. Other threads
/// may look at it with for_each(), at OwnCounts for instance.
///
/// A T is made when its thread first asks for it; when the thread ends get()
/// gives nullptr, then t.retire() is called, then t is gone. In a forked child,
/// where no other thread is, t.forget() is called for each of the others.
template <typename T>
class PerThread {
 public:
  /// That of the calling thread; nullptr once the thread is ending.
  static T* get() {
    if (mine_ == nullptr && !ended_) {
      make();
    }
    return mine_;
  }

  /// Calls f(t) for the T of every thread that has one; none comes or goes
  /// meanwhile.
  template <typename F>
  static void for_each(const F& f) {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    for (Owner* owner = all.first; owner != nullptr; owner = owner->next) {
      f(owner->value);
    }
  }

 private:
  struct Owner {
    Owner() {
      Registry& all = registry();
      const std::lock_guard lock(all.mutex);
      next = all.first;
      all.first = this;
      mine_ = &value;
    }
    ~Owner() {
      mine_ = nullptr;
      ended_ = true;
      value.retire();
      Registry& all = registry();
      const std::lock_guard lock(all.mutex);
      Owner** link = &all.first;
      while (*link != this) {
        link = &(*link)->next;
      }
      *link = next;
    }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    T value;
    Owner* next;
  };

  struct Registry {
    std::mutex mutex;
    Owner* first = nullptr;
  };

  // Never destroyed: threads may outlive static objects.
  static Registry& registry() {
    static Registry* const instance = [] {
      pthread_atfork(
          [] { registry().mutex.lock(); },
          [] { registry().mutex.unlock(); },
          [] { forget_others(); });
      return new Registry;
    }();
    return *instance;
  }

  // In a forked child; the mutex is locked.
  static void forget_others() {
    Registry& all = registry();
    Owner* mine = nullptr;
    for (Owner* owner = all.first; owner != nullptr; owner = owner->next) {
      if (&owner->value == mine_) {
        mine = owner;
      } else {
        owner->value.forget();
      }
    }
    if (mine != nullptr) {
      mine->next = nullptr;
    }
    all.first = mine;
    all.mutex.unlock();
  }

  [[gnu::noinline]] static void make() {
    static thread_local Owner owner;
    static_cast<void>(owner);
  }

  // Plain values, so that looking at them costs no more than at a static.
  static inline constinit thread_local T* mine_ = nullptr;
  static inline constinit thread_local bool ended_ = false;
};

}  // namespace heed
