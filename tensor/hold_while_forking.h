#pragma once

#include <pthread.h>

#include <memory>
#include <mutex>
#include <type_traits>

namespace heed {

/// From now on whoever forks holds the mutex that kMutex() gives meanwhile: the
/// child, where no other thread is, finds it free and what it guards whole. Of
/// two, the one that is locked while the other is held must be given first.
template <auto kMutex>
void hold_while_forking() {
  using Mutex = std::remove_reference_t<decltype(kMutex())>;
  pthread_atfork(
      [] { kMutex().lock(); },
      [] { kMutex().unlock(); },
      [] {
        if constexpr (std::is_same_v<Mutex, std::recursive_mutex>) {
          std::construct_at(&kMutex());  // whose owner goes by another number
        } else {
          kMutex().unlock();
        }
      });
}

}  // namespace heed
