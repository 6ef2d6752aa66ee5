#pragma once

/// Kernels for the SIMD instructions that this processor has.
///
/// heed is compiled for any processor of its architecture; a kernel called
/// through simd::call is compiled once more for each level below, and the best
/// one that the processor has is taken. Levels round differently (a fused
/// multiply-add rounds once), so results are the same bits only within a level.
namespace heed::simd {

/// In rising order.
enum class Level {
  baseline,  ///< What the compiler was told: SSE2 on x86-64.
  avx2,      ///< AVX2 and FMA.
  avx512,    ///< AVX-512 F, BW, CD, DQ and VL.
};

/// The highest level of this processor.
Level processor_level();

/// The level called `choice` (baseline, avx2 or avx512); `most` for an empty or
/// null one. Throws std::invalid_argument for anything else and for a level
/// above `most`.
Level parse_level(const char* choice, Level most);

/// The level in use: the processor's, unless the environment variable HEED_SIMD
/// names a lower one. Read once. Throws as parse_level.
Level level();

/// "SSE2", "AVX2", "AVX-512"; the baseline's name is that of what the compiler
/// was told.
const char* name(Level level);

namespace detail {

#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#define HEED_TARGET_AVX512 \
  "avx2,fma,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
#else
#define HEED_TARGET_AVX512                                     \
  "avx2,fma,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl," \
  "prefer-vector-width=512"
#endif

template <auto kKernel, typename... Args>
[[gnu::target("avx2,fma,bmi2"), gnu::flatten]] auto call_avx2(Args... args) {
  return kKernel(args...);
}

template <auto kKernel, typename... Args>
[[gnu::target(HEED_TARGET_AVX512), gnu::flatten]] auto call_avx512(
    Args... args) {
  return kKernel(args...);
}
#endif

}  // namespace detail

/// As call() below, with a kernel for each level: of its own tile sizes, say.
template <auto kBaseline, auto kAvx2, auto kAvx512, typename... Args>
auto call_own(Args... args) {
#if defined(__x86_64__) && defined(__GNUC__)
  switch (level()) {
    case Level::avx512:
      return detail::call_avx512<kAvx512>(args...);
    case Level::avx2:
      return detail::call_avx2<kAvx2>(args...);
    case Level::baseline:
      break;
  }
#endif
  return kBaseline(args...);
}

/// kKernel(args...) at the level in use; kKernel is a function, and arguments
/// go by value. What it calls must be inline to be compiled for that level too:
/// g++ then inlines it whatever its size.
template <auto kKernel, typename... Args>
auto call(Args... args) {
  return call_own<kKernel, kKernel, kKernel>(args...);
}

/// call<kKernel>(args...) if kWorth; else kKernel(args...) as it is, where
/// kernels for each level would only make the library larger.
template <bool kWorth, auto kKernel, typename... Args>
auto call_if(Args... args) {
  if constexpr (kWorth) {
    return call<kKernel>(args...);
  } else {
    return kKernel(args...);
  }
}

}  // namespace heed::simd
