#pragma once

#include <cstdint>

namespace heed::simd {

/// A SIMD register of kBytes bytes of numbers, as the compilers' own vector
/// type: + - * / and a scalar times a vector work element by element. A level
/// has registers of 16 (baseline), 32 (avx2) or 64 bytes (avx512); wider ones
/// are slow.
template <typename T, int kBytes>
struct Register {
  typedef T Value __attribute__((vector_size(kBytes)));
  /// How one lies in an array of T, at any address of a T.
  typedef T InMemory
      __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
  /// Numbers it holds.
  static constexpr int64_t kCount = kBytes / static_cast<int64_t>(sizeof(T));
};

}  // namespace heed::simd
