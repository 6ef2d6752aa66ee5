#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

/// Elementary functions a compiler can vectorise.
///
/// The float versions have no branch, no table and no call, so that a loop
/// over them under `#pragma omp simd` becomes SIMD code at any level from SSE2
/// on, without -ffast-math (g++ needs -fno-trapping-math). All are within 2 ulp
/// of the true value on the whole float range (sigmoid within 2.2), with or
/// without fused multiply-add; infinities, NaN, signed zeros and denormals come
/// out as from the C library, save that errno and the floating-point flags say
/// nothing. The double versions, for gradient checks and study, are the C
/// library's.
///
/// Every function here is forced inline: a source compiled for a newer CPU
/// must never leave an out-of-line copy that the linker hands to the others.
///
/// Arguments are reduced as Cody and Waite do ("Software Manual for the
/// Elementary Functions", 1980). The polynomials are minimax fits (Remez' idea,
/// by Lawson's reweighting) on the reduced range; their coefficients were
/// rounded to float one by one, the others being refitted each time.
namespace heed::vector_math {

/// Exponential: e^x. Overflows to infinity above 88.7228, underflows gradually
/// to 0 below -87.3.
[[gnu::always_inline]] inline float exp(float x) {
  constexpr float kLog2E = 1.44269504f;
  // ln 2 in two parts: n * kLn2High is exact, kLn2High having 10 bits.
  constexpr float kLn2High = 0.693359375f;
  constexpr float kLn2Low = -2.12194440e-4f;
  // Adding 1.5 * 2^23 leaves no fraction bits: it rounds to an integer, which
  // then stands in the low bits.
  constexpr float kRound = 12582912.0f;

  x = x > 89.0f ? 89.0f : x;      // exp is infinite; NaN stays
  x = x < -104.0f ? -104.0f : x;  // exp rounds to 0
  const float shifted = x * kLog2E + kRound;
  const int32_t n =
      std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  const float rounded = shifted - kRound;
  const float r = (x - rounded * kLn2High) - rounded * kLn2Low;

  // e^r = 1 + r + r^2 q(r) on |r| <= ln(2) / 2, error 2^-28.
  float q = 1.3941878e-3f;
  q = q * r + 8.36867932e-3f;
  q = q * r + 4.16663885e-2f;
  q = q * r + 1.66665211e-1f;
  q = q * r + 0.5f;
  const float power = 1.0f + (r + r * r * q);

  // 2^n in two factors: n may lie outside the exponents of normal numbers.
  const int32_t half = n >> 1;
  const float scale_a =
      std::bit_cast<float>(static_cast<uint32_t>(half + 127) << 23);
  const float scale_b =
      std::bit_cast<float>(static_cast<uint32_t>(n - half + 127) << 23);
  return power * scale_a * scale_b;
}

/// exp(x) in the same bits and in fewer steps, for x <= 40, as where a maximum
/// has been taken away.
[[gnu::always_inline]] inline float exp_up_to_40(float x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;
  constexpr float kLn2Low = -2.12194440e-4f;
  // As in exp, but n + 192 stands in the low bits: the exponent of 2^(n + 65).
  constexpr float kRound = 12582912.0f + 192.0f;

  x = x < -104.0f ? -104.0f : x;
  const float shifted = x * kLog2E + kRound;
  const float rounded = shifted - kRound;
  const float r = (x - rounded * kLn2High) - rounded * kLn2Low;

  float q = 1.3941878e-3f;
  q = q * r + 8.36867932e-3f;
  q = q * r + 4.16663885e-2f;
  q = q * r + 1.66665211e-1f;
  q = q * r + 0.5f;
  const float power = 1.0f + (r + r * r * q);

  const float scale =
      std::bit_cast<float>(std::bit_cast<uint32_t>(shifted) << 23);
  return power * scale * 0x1p-65f;
}

/// Natural logarithm: ln x. ln 0 = -infinity, NaN below 0.
[[gnu::always_inline]] inline float log(float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSmallestNormal = std::numeric_limits<float>::min();
  constexpr float kLn2High = 0.693359375f;
  constexpr float kLn2Low = -2.12194440e-4f;

  // Denormals are brought into the normal range first.
  const bool denormal = x < kSmallestNormal;
  const float normal = x * (denormal ? 8388608.0f : 1.0f);
  const float lift = denormal ? 23.0f : 0.0f;

  // normal = 2^exponent * mantissa, mantissa in [sqrt(1/2), sqrt(2)): taking
  // the bits of sqrt(1/2) away makes the exponent field step there.
  constexpr uint32_t kSqrtHalf = 0x3f3504f3;
  const uint32_t bits = std::bit_cast<uint32_t>(normal);
  const uint32_t exponent_bits = (bits - kSqrtHalf) & 0xff800000;
  const float exponent =
      static_cast<float>(static_cast<int32_t>(exponent_bits) >> 23) - lift;
  const float f = std::bit_cast<float>(bits - exponent_bits) - 1.0f;

  // ln(1 + f) = f - f^2 / 2 + f^3 q(f), error 2^-27.
  float q = -7.63643906e-2f;
  q = q * f + 1.27622172e-1f;
  q = q * f - 1.31596103e-1f;
  q = q * f + 1.4201580e-1f;
  q = q * f - 1.66234091e-1f;
  q = q * f + 2.00012416e-1f;
  q = q * f - 2.50008196e-1f;
  q = q * f + 3.33333313e-1f;
  const float square = f * f;
  const float tail = f * square * q + exponent * kLn2Low;
  float y = (f + (tail - 0.5f * square)) + exponent * kLn2High;

  y = x == 0.0f ? -kInfinity : y;
  y = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : y;
  // Infinity, and any NaN, is its own logarithm.
  return x < kInfinity ? y : x;
}

/// Hyperbolic tangent.
[[gnu::always_inline]] inline float tanh(float x) {
  const float t = std::fabs(x);

  // Near zero: tanh x = x + x^3 p(x^2) on |x| < 0.625, error 2^-27.
  const float square = x * x;
  float p = -5.69229666e-3f;
  p = p * square + 2.06281673e-2f;
  p = p * square - 5.37365153e-2f;
  p = p * square + 1.33314058e-1f;
  p = p * square - 3.33332807e-1f;
  const float near = t + t * square * p;

  const float far = 1.0f - 2.0f / (exp(2.0f * t) + 1.0f);
  return std::copysign(t < 0.625f ? near : far, x);
}

/// Logistic function: 1 / (1 + e^-x), as e^x / (1 + e^x) below 0, where it
/// keeps its precision down to the smallest numbers.
[[gnu::always_inline]] inline float sigmoid(float x) {
  const float e = exp(-std::fabs(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/// Error function: 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.
[[gnu::always_inline]] inline float erf(float x) {
  // Near zero: erf x = x + x p(x^2) on |x| < 1, error 2^-29.
  const float square = x * x;
  float p = 7.80690389e-5f;
  p = p * square - 7.9978531e-4f;
  p = p * square + 5.1871622e-3f;
  p = p * square - 2.68533472e-2f;
  p = p * square + 1.12835787e-1f;
  p = p * square - 3.7612626e-1f;
  p = p * square + 1.28379166e-1f;

  const float t = std::fabs(x);
  const float near = t + t * p;

  // Farther out: erf u = 1 - e^q(u) on [1, 3.93], error 2^-35; then 1.
  const float u = t > 3.93f ? 3.93f : t;
  float q = -2.16840108e-5f;
  q = q * u + 4.41307173e-4f;
  q = q * u - 4.20443714e-3f;
  q = q * u + 2.5207974e-2f;
  q = q * u - 1.08418219e-1f;
  q = q * u - 6.33220136e-1f;
  q = q * u - 1.12957835f;
  q = q * u + 1.88036851e-4f;
  const float far = 1.0f - exp(q);
  return std::copysign(t < 1.0f ? near : far, x);
}

[[gnu::always_inline]] inline double exp(double x) { return std::exp(x); }
[[gnu::always_inline]] inline double exp_up_to_40(double x) {
  return std::exp(x);
}
[[gnu::always_inline]] inline double log(double x) { return std::log(x); }
[[gnu::always_inline]] inline double tanh(double x) { return std::tanh(x); }
[[gnu::always_inline]] inline double erf(double x) { return std::erf(x); }
[[gnu::always_inline]] inline double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

}  // namespace heed::vector_math
