#include "tensor/blas_info.h"

#include <dlfcn.h>
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

// Child runs of this program play a library that misjudged its processor: the
// program has loaded it, so that it read OPENBLAS_CORETYPE, which heed then
// finds gone.
const bool misjudged = [] {
  const bool play = std::getenv("HEED_TEST_MISJUDGED") != nullptr;
  if (play) {
#ifdef HEED_OPENBLAS
    dlopen(HEED_OPENBLAS, RTLD_LAZY | RTLD_LOCAL);
#endif
    unsetenv("OPENBLAS_CORETYPE");
  }
  return play;
}();

struct Outcome {
  int status;
  std::string output;
};

/// Runs a command of the shell, free of the user's choices for OpenBLAS.
Outcome run(const std::string& command) {
  const std::string clean =
      "env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE " + command;
  FILE* pipe = popen(clean.c_str(), "r");
  REQUIRE(pipe);
  Outcome outcome;
  for (int letter; (letter = std::fgetc(pipe)) != EOF;) {
    outcome.output += static_cast<char>(letter);
  }
  outcome.status = pclose(pipe);
  return outcome;
}

/// Runs the test cases called "gemm..." and "blas_info..." in a new process, at
/// a level where BLAS computes the large products too; gives what they write to
/// stderr.
Outcome run_again(const std::string& environment) {
  std::array<char, 4096> path{};
  REQUIRE(readlink("/proc/self/exe", path.data(), path.size() - 1) > 0);
  return run(
      "HEED_SIMD=baseline " + environment + " '" + path.data() +
      "' --test-case='gemm*,blas_info*' 2>&1 >/dev/null");
}

/// Runs late_blas, which is given `library` after its first products.
Outcome run_late(const std::string& library) {
  return run(std::string("'") + HEED_LATE_BLAS + "' '" + library + "' 2>&1");
}

const std::string kWithoutLibrary =
    "matmul: OpenBLAS must be installed (Debian, Ubuntu: libopenblas0-openmp; "
    "Homebrew: openblas), got libheed_late_blas.so.0: cannot open shared "
    "object file: No such file or directory\n";

const std::string kWithLibrary =
    "loaded before a product: no\n"
    "right in a child: yes\n"
    "right in threads: yes\n"
    "right in a child afterwards: yes\n"
    "loaded: yes\n";

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
  CHECK(outcome.output == "");
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
    CHECK(outcome.output == "");
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
    CHECK(outcome.output == "");
  }
}

TEST_CASE(
    "library: opened at the first product, looked for until it is there") {
  const Outcome outcome = run_late(HEED_PLAIN_BLAS);
  CHECK(outcome.status == 0);
  CHECK(
      outcome.output == kWithoutLibrary + kWithoutLibrary + kWithLibrary +
                            "BLAS      unknown BLAS\n");
}

#ifdef HEED_OPENBLAS
TEST_CASE("library: OpenBLAS may come as late as any other") {
  const Outcome outcome = run_late(HEED_OPENBLAS);
  CHECK(outcome.status == 0);
  const std::string start = kWithoutLibrary + kWithoutLibrary + kWithLibrary +
                            "BLAS      " + blas_info().library + "\n";
  CHECK(outcome.output == start);
}
#endif
