#include "tensor/simd.h"

#include <cstdlib>
#include <string_view>

#include "tensor/error.h"

namespace heed::simd {
namespace {

constexpr Level kLevels[] = {Level::baseline, Level::avx2, Level::avx512};
constexpr std::string_view kChoices[] = {"baseline", "avx2", "avx512"};

}  // namespace

Level processor_level() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") &&
                        __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi2");
  if (has_avx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return Level::avx512;
  }
  if (has_avx2) {
    return Level::avx2;
  }
#endif
  return Level::baseline;
}

Level parse_level(const char* choice, Level most) {
  if (choice == nullptr || *choice == '\0') {
    return most;
  }
  for (const Level level : kLevels) {
    if (kChoices[static_cast<int>(level)] == choice && level <= most) {
      return level;
    }
  }
  fail(
      "HEED_SIMD",
      "must be baseline, avx2 or avx512, and no more than this processor has, ",
      kChoices[static_cast<int>(most)],
      ", got ",
      choice);
}

Level level() {
  static const Level chosen =
      parse_level(std::getenv("HEED_SIMD"), processor_level());
  return chosen;
}

const char* name(Level level) {
  switch (level) {
    case Level::avx512:
      return "AVX-512";
    case Level::avx2:
      return "AVX2";
    case Level::baseline:
      break;
  }
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__SSE2__)
  return "SSE2";
#elif defined(__ARM_NEON)
  return "NEON";
#else
  return "none";
#endif
}

}  // namespace heed::simd
