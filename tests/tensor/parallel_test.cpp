#include "tensor/parallel.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace heed;

// The thread sanitizer ends a forked child that starts threads, unless told so.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace {

/// Sets the number of threads for one test and puts it back.
class Threads {
 public:
  explicit Threads(int n) : before_(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

/// The pieces that a loop is cut into, in order.
std::set<std::pair<int64_t, int64_t>> pieces_of(int64_t n, int64_t grain) {
  std::mutex mutex;
  std::set<std::pair<int64_t, int64_t>> pieces;
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    CHECK(pieces.insert({begin, end}).second);
  });
  return pieces;
}

/// The message of the exception that a loop over 100,000 items throws when the
/// items in `bad` are.
std::string failure(const std::set<int64_t>& bad) {
  try {
    parallel_for(100000, 100, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (bad.count(i)) {
          throw std::invalid_argument("bad index " + std::to_string(i));
        }
      }
    });
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("parallel_for: visits every item once, whatever n and grain") {
  for (const int threads : {1, 2, 4, 7}) {
    const Threads guard(threads);
    for (const int64_t n : {0, 1, 2, 63, 64, 65, 1000, 4097}) {
      for (const int64_t grain : {1, 3, 64, 1000, 5000}) {
        std::vector<int> visits(n);
        parallel_for(n, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            ++visits[i];
          }
        });
        CHECK(visits == std::vector<int>(n, 1));
      }
    }
  }
}

TEST_CASE("parallel_for: pieces depend on n and grain only") {
  const std::set<std::pair<int64_t, int64_t>> want = {
      {0, 30}, {30, 60}, {60, 90}, {90, 100}};
  for (const int threads : {1, 2, 3, 8}) {
    const Threads guard(threads);
    CHECK(pieces_of(100, 30) == want);
  }
}

TEST_CASE("parallel_for: n <= grain is one call in the caller's thread") {
  const Threads guard(4);
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  parallel_for(100, 100, [&](int64_t begin, int64_t end) {
    ++calls;
    CHECK(begin == 0);
    CHECK(end == 100);
    CHECK(std::this_thread::get_id() == caller);
  });
  CHECK(calls == 1);
}

TEST_CASE("parallel_for: nothing is called for n = 0 and n < 0") {
  parallel_for(0, 1, [](int64_t, int64_t) { FAIL("called"); });
  parallel_for(-3, 1, [](int64_t, int64_t) { FAIL("called"); });
}

TEST_CASE("parallel_for: several threads take part") {
  const Threads guard(2);
  // Two pieces that wait for each other end only if two threads run them.
  std::atomic<int> arrived{0};
  parallel_for(2, 1, [&](int64_t, int64_t) {
    ++arrived;
    while (arrived < 2) {
      std::this_thread::yield();
    }
  });
  CHECK(arrived == 2);
}

TEST_CASE("parallel_for: a nested call runs in its caller's thread") {
  const Threads guard(2);
  std::atomic<int64_t> items{0};
  parallel_for(8, 1, [&](int64_t, int64_t) {
    const auto caller = std::this_thread::get_id();
    parallel_for(1000, 10, [&](int64_t begin, int64_t end) {
      CHECK(std::this_thread::get_id() == caller);
      items += end - begin;
    });
  });
  CHECK(items == 8000);
}

TEST_CASE("parallel_for: an exception from any item reaches the caller") {
  for (const int threads : {1, 2, 4}) {
    const Threads guard(threads);
    for (const int64_t bad : {0, 50000, 99999}) {
      CHECK(failure({bad}) == "bad index " + std::to_string(bad));
    }
    CHECK(failure({}) == "");  // and the next loop is whole again
  }
}

TEST_CASE("parallel_for: of several exceptions the lowest piece's wins") {
  for (const int threads : {1, 2, 4}) {
    const Threads guard(threads);
    for (int round = 0; round < 50; ++round) {
      CHECK(failure({99999, 50001, 50000, 31234}) == "bad index 31234");
    }
  }
}

TEST_CASE("parallel_for: works from several threads at once") {
  const Threads guard(2);
  std::vector<int64_t> sums(4);
  std::vector<std::thread> callers;
  for (int64_t& sum : sums) {
    callers.emplace_back([&sum] {
      for (int round = 0; round < 200; ++round) {
        std::vector<int64_t> parts(10);
        parallel_for(1000, 100, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            parts[begin / 100] += i;
          }
        });
        for (const int64_t part : parts) {
          sum += part;
        }
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  CHECK(sums == std::vector<int64_t>(4, 200 * 499500));
}

TEST_CASE("parallel_for: follows set_num_threads up and down") {
  std::vector<double> x(5000, 1.0);
  for (const int threads : {1, 3, 2, 8, 1, 2}) {
    const Threads guard(threads);
    for (int round = 0; round < 20; ++round) {
      parallel_for(5000, 7, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          x[i] += 1.0;
        }
      });
    }
  }
  CHECK(x == std::vector<double>(5000, 121.0));
}

TEST_CASE("parallel_for: works in a forked child") {
  const Threads guard(2);
  std::atomic<int> here{0};
  parallel_for(2, 1, [&](int64_t, int64_t) {
    ++here;
    while (here < 2) {  // under a sanitizer, no thread may be just starting
      std::this_thread::yield();
    }
  });
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);
    std::atomic<int64_t> items{0};
    parallel_for(
        1000, 10, [&](int64_t begin, int64_t end) { items += end - begin; });
    _exit(items == 1000 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("parallel_for: bad input says what is wrong") {
  CHECK_THROWS_WITH_AS(
      parallel_for(10, 0, [](int64_t, int64_t) {}),
      "parallel_for: grain must be >= 1, got 0",
      std::invalid_argument);
  for (const int n : {0, -1, 1025}) {
    const int before = num_threads();
    const std::string want =
        "set_num_threads: n must be in [1, 1024], got " + std::to_string(n);
    CHECK_THROWS_WITH_AS(
        set_num_threads(n), want.c_str(), std::invalid_argument);
    CHECK(num_threads() == before);
  }
}

TEST_CASE("grain_for: dearer items make smaller pieces, never empty ones") {
  CHECK(grain_for(1) == 32768);
  CHECK(grain_for(32) == 1024);
  CHECK(grain_for(1 << 20) == 1);
  CHECK(grain_for(0) == 32768);
}
