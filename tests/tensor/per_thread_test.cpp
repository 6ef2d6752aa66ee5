#include "tensor/per_thread.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tensor/own_count.h"

using namespace heed;

namespace {

std::atomic<int64_t> retired{0};
std::atomic<int64_t> forgotten{0};

struct Tally {
  OwnCount count;
  void retire() { retired += count.get(); }
  void forget() { forgotten += count.get(); }
};

int64_t total() {
  int64_t sum = 0;
  PerThread<Tally>::for_each([&](const Tally& t) { sum += t.count.get(); });
  return sum;
}

// Asks for a thread's Tally when those of the thread may be gone.
struct Late {
  ~Late() { *found = PerThread<Tally>::get(); }
  Tally** found;
};

}  // namespace

TEST_CASE("PerThread: each thread has one of its own, all are seen") {
  Tally* const mine = PerThread<Tally>::get();
  CHECK(PerThread<Tally>::get() == mine);
  const int64_t before = total();
  const int64_t retired_before = retired;
  mine->count.add(1);
  std::atomic<int> ready{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, mine] {
      Tally* const own = PerThread<Tally>::get();
      CHECK(own != mine);
      own->count.add(10);
      ++ready;
      done.wait(false);
    });
  }
  while (ready != 3) {
    std::this_thread::yield();
  }
  CHECK(total() == before + 31);
  done = true;
  done.notify_all();
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(total() == before + 1);
  CHECK(retired == retired_before + 30);
}

TEST_CASE("PerThread: a thread that is ending has none any more") {
  Tally* found = PerThread<Tally>::get();
  std::thread([&] {
    static thread_local Late late{&found};  // made first, so it goes last
    PerThread<Tally>::get();
  }).join();
  CHECK(found == nullptr);
}

TEST_CASE("PerThread: a forked child has that of its only thread") {
  PerThread<Tally>::get()->count.set(1);
  std::atomic<bool> ready{false};
  std::atomic<bool> done{false};
  std::thread other([&] {
    PerThread<Tally>::get()->count.set(10);
    ready = true;
    ready.notify_all();
    done.wait(false);
  });
  ready.wait(false);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::thread([] { PerThread<Tally>::get()->count.set(100); }).join();
    _exit(total() == 1 && forgotten == 10 ? 0 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(total() == 11);
  done = true;
  done.notify_all();
  other.join();
}
