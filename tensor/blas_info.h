#pragma once

#include <string>

namespace heed {

/// What multiplies the matrices.
struct BlasInfo {
  std::string library;       ///< As it names itself, or "unknown BLAS".
  std::string core;          ///< Kernel set in use; empty if it does not say.
  std::string found_core;    ///< Kernel set that the library had chosen.
  bool user_choice = false;  ///< OPENBLAS_CORETYPE is set and was respected.
  bool repaired = false;     ///< core was chosen by heed, not the library.
  bool slow = false;     ///< core leaves much of this processor's speed unused.
  bool correct = false;  ///< Trial products gave the right numbers.
};

/// Describes the BLAS, after the check that precedes the first product. Nothing
/// of it is loaded before: a program that does not multiply never waits for it.
///
/// OpenBLAS chooses kernels by the processor's name, and those of a processor
/// newer than itself may be twenty years old and several times too slow. Unless
/// OPENBLAS_CORETYPE is set, such a choice is replaced here by the best kernels
/// that the processor's instructions allow and that multiply right. What cannot
/// be repaired is said once on stderr.
///
/// Throws std::runtime_error if there is no BLAS library; the next call looks
/// for it again.
const BlasInfo& blas_info();

}  // namespace heed
