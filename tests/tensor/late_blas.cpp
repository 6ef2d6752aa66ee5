// A program whose BLAS library is installed while it runs: `late_blas LIBRARY`.
// Its tensor/blas_library.cpp looks for the library HEED_BLAS_PATH.
#include <heed/heed.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// The thread sanitizer ends a forked child that starts threads, unless told so.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace {

heed::Tensor product() {
  return heed::matmul(heed::full({70, 80}, 2), heed::full({80, 90}, 3));
}

bool is_loaded(const std::string& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(file) != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// The first products of this process, all at once.
bool multiplies_in_threads() {
  std::array<bool, 4> right{};
  std::vector<std::thread> threads;
  for (bool& mine : right) {
    threads.emplace_back([&mine] {
      const heed::Tensor y = product();
      mine = heed::equal(y, heed::full({70, 90}, 480));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return right == std::array<bool, 4>{true, true, true, true};
}

bool multiplies_in_child() {
  std::fflush(stdout);  // the child would write it once more
  const pid_t child = fork();
  if (child == 0) {
    _exit(multiplies_in_threads() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

void say(const char* what, bool yes) {
  std::printf("%s: %s\n", what, yes ? "yes" : "no");
}

}  // namespace

int main(int, char** arguments) {
  const std::filesystem::path library =
      std::filesystem::canonical(arguments[1]);
  unlink(HEED_BLAS_PATH);
  for (int i = 0; i < 2; ++i) {
    try {
      product();
    } catch (const std::runtime_error& error) {
      std::printf("%s\n", error.what());
    }
  }
  if (symlink(library.c_str(), HEED_BLAS_PATH) != 0) {
    return 1;
  }
  const heed::Variable x(heed::ones({8}), true);
  heed::sum(x * x).backward();
  say("loaded before a product", is_loaded(library.filename()));
  say("right in a child", multiplies_in_child());
  say("right in threads", multiplies_in_threads());
  say("right in a child afterwards", multiplies_in_child());
  say("loaded", is_loaded(library.filename()));
  const std::string config = heed::config();
  const size_t blas = config.find("BLAS ");
  std::printf(
      "%s\n", config.substr(blas, config.find('\n', blas) - blas).c_str());
  unlink(HEED_BLAS_PATH);
}
