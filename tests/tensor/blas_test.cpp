#include "tensor/blas.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace heed;

namespace {

// Child runs of this program play a library that misjudged its processor: it
// read OPENBLAS_CORETYPE when it was loaded, and heed finds the variable gone.
const bool misjudged = [] {
  const bool play = std::getenv("HEED_TEST_MISJUDGED") != nullptr;
  if (play) {
    unsetenv("OPENBLAS_CORETYPE");
  }
  return play;
}();

struct Outcome {
  int status;
  std::string errors;
};

/// Runs the test cases called "gemm..." and "blas_info..." in a new process.
Outcome run_again(const std::string& environment) {
  std::array<char, 4096> path{};
  REQUIRE(readlink("/proc/self/exe", path.data(), path.size() - 1) > 0);
  const std::string command =
      "env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE " + environment + " '" +
      path.data() + "' --test-case='gemm*,blas_info*' 2>&1 >/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  Outcome outcome;
  for (int letter; (letter = std::fgetc(pipe)) != EOF;) {
    outcome.errors += static_cast<char>(letter);
  }
  outcome.status = pclose(pipe);
  return outcome;
}

bool has_avx2() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

bool has_avx512() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd");
#else
  return false;
#endif
}

bool is_openblas() { return !blas_info().found_core.empty(); }

}  // namespace

TEST_CASE("blas_info: describes the kernels in use") {
  const BlasInfo& info = blas_info();
  CHECK_FALSE(info.library.empty());
  CHECK(info.correct);
  if (const char* want = std::getenv("HEED_TEST_CORE")) {
    CHECK(info.core == std::string(want));
    CHECK(info.repaired == misjudged);
    CHECK(info.user_choice == !misjudged);
  } else if (is_openblas() && !info.user_choice) {
    CHECK_FALSE(info.slow);
  }
}

TEST_CASE("kernels: right numbers, silently, with the library's own choice") {
  const Outcome outcome = run_again("");
  CHECK(outcome.status == 0);
  CHECK(outcome.errors == "");
}

TEST_CASE("kernels: right numbers, silently, with each set the user chooses") {
  if (!is_openblas()) {
    return;  // the BLAS has one set, which the other tests try
  }
  std::vector<std::string> cores = {"Prescott", "Nehalem"};
  if (has_avx2()) {
    cores.insert(cores.end(), {"Sandybridge", "Haswell", "Zen"});
  }
  if (has_avx512()) {
    cores.push_back("SkylakeX");
  }
  for (const std::string& core : cores) {
    const Outcome outcome =
        run_again("OPENBLAS_CORETYPE=" + core + " HEED_TEST_CORE=" + core);
    CAPTURE(core);
    CHECK(outcome.status == 0);
    CHECK(outcome.errors == "");
  }
}

TEST_CASE("kernels: a misjudged processor gets the best it can run") {
  if (!is_openblas() || !has_avx2()) {
    return;  // nothing is misjudged
  }
  const std::string best = has_avx512() ? "SkylakeX" : "Haswell";
  for (const char* core : {"Prescott", "Nehalem", "Sandybridge"}) {
    const Outcome outcome = run_again(
        std::string("HEED_TEST_MISJUDGED=1 OPENBLAS_CORETYPE=") + core +
        " HEED_TEST_CORE=" + best);
    CHECK(outcome.status == 0);
    CHECK(outcome.errors == "");
  }
}
