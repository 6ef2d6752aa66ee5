#include "tensor/memory.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "tensor/creation.h"
#include "tensor/elementwise.h"

using namespace heed;

TEST_CASE("memory_stats: back to where it was when tensors are gone") {
  const MemoryStats before = memory_stats();
  {
    const Tensor x = zeros({100, 100});
    const Tensor view = x.transpose(0, 1).slice(0, 3, 50);
    CHECK(memory_stats().live_tensors == before.live_tensors + 1);
    CHECK(memory_stats().live_bytes >= before.live_bytes + 40000);
    const Tensor y = view + 1;
    CHECK(memory_stats().live_tensors == before.live_tensors + 2);
  }
  CHECK(memory_stats().live_tensors == before.live_tensors);
  CHECK(memory_stats().live_bytes == before.live_bytes);
}

TEST_CASE("memory_stats: a view alone keeps the storage alive") {
  const MemoryStats before = memory_stats();
  Tensor view = ones({1000})[3];
  CHECK(memory_stats().live_tensors == before.live_tensors + 1);
  CHECK(view.item<float>() == 1);
  view = Tensor();
  CHECK(memory_stats().live_tensors == before.live_tensors);
}

TEST_CASE("memory_stats: a refused operation leaves nothing behind") {
  const MemoryStats before = memory_stats();
  CHECK_THROWS(full({1000}, 0.5, kInt64));
  CHECK_THROWS(ones({2}) + ones({3}));
  CHECK_THROWS(tensor({{1, 2}, {3}}));
  CHECK(memory_stats().live_tensors == before.live_tensors);
}

TEST_CASE("memory_stats: the peak is the highest since it was reset") {
  reset_peak_memory();
  const int64_t before = memory_stats().live_bytes;
  CHECK(memory_stats().peak_bytes == before);
  { const Tensor x({1 << 20}, kFloat32); }
  CHECK(memory_stats().peak_bytes >= before + (4 << 20));
  CHECK(memory_stats().live_bytes == before);
  reset_peak_memory();
  CHECK(memory_stats().peak_bytes == before);
}

TEST_CASE("pool: a freed block serves the next tensor of its size") {
  const void* first = nullptr;
  {
    const Tensor x({12345}, kFloat32);
    first = x.data<float>();
  }
  const int64_t cached = memory_stats().cached_bytes;
  if (cached == 0) {  // nothing is cached under AddressSanitizer
    return;
  }
  const Tensor y({12345}, kFloat32);
  CHECK(y.data<float>() == first);
  CHECK(memory_stats().cached_bytes < cached);
}

TEST_CASE("pool: sizes that change share the blocks of larger ones") {
  // Each size is alone: what is held stays near the largest of them.
  constexpr int64_t kLargest = 16 << 20;
  empty_cache();
  const auto held = [] {
    const MemoryStats stats = memory_stats();
    return stats.live_bytes + stats.cached_bytes;
  };
  const int64_t before = held();
  for (int64_t bytes = kLargest; bytes >= 1 << 20; bytes = bytes * 7 / 8) {
    Tensor({bytes}, kBool).fill_(true);
  }
  CHECK(held() - before < 4 * kLargest);
  // And a block that served a smaller tensor still serves large ones.
  const int64_t cached = memory_stats().cached_bytes;
  Tensor({kLargest}, kBool).fill_(true);
  CHECK(memory_stats().cached_bytes == cached);
}

TEST_CASE("pool: the rest of a block that a smaller tensor is in is cached") {
  empty_cache();
  { const Tensor x({16 << 20}, kBool); }
  const MemoryStats before = memory_stats();
  if (before.cached_bytes == 0) {  // nothing is cached under AddressSanitizer
    return;
  }
  const auto held = [] {
    const MemoryStats stats = memory_stats();
    return stats.live_bytes + stats.cached_bytes;
  };
  const int64_t all = held();
  Tensor x({(12 << 20) - 64}, kBool);  // and a header of 64
  CHECK(memory_stats().live_bytes == before.live_bytes + (12 << 20));
  CHECK(held() == all);
  empty_cache();
  CHECK(held() == all);
  x = Tensor();
  CHECK(memory_stats().live_bytes == before.live_bytes);
  CHECK(held() == all);
  empty_cache();
  CHECK(memory_stats().cached_bytes == 0);
}

TEST_CASE("empty_cache: gives everything back, and tensors go on") {
  const Tensor x = ones({1000});
  { const Tensor y({1 << 20}, kFloat32); }
  empty_cache();
  CHECK(memory_stats().cached_bytes == 0);
  CHECK(x.to_vector<float>() == std::vector<float>(1000, 1.0f));
  CHECK(zeros({1 << 20}).numel() == 1 << 20);
}

TEST_CASE("pool: blocks hold what was asked for, and do not overlap") {
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  unsigned char mark = 0;
  for (size_t bytes = 1; bytes < 5000; bytes = bytes * 9 / 8 + 1) {
    auto* block = static_cast<unsigned char*>(detail::pool_allocate(bytes));
    CHECK(reinterpret_cast<uintptr_t>(block) % 64 == 0);
    std::memset(block, mark++, bytes);
    blocks.emplace_back(block, bytes);
  }
  mark = 0;
  bool intact = true;
  for (const auto& [block, bytes] : blocks) {
    for (size_t i = 0; i < bytes; ++i) {
      intact &= block[i] == mark;
    }
    ++mark;
    detail::pool_free(block, bytes);
  }
  CHECK(intact);
}

TEST_CASE("memory_stats: many small tensors count like few large ones") {
  reset_peak_memory();
  const MemoryStats before = memory_stats();
  {
    std::vector<Tensor> tensors;
    for (int i = 0; i < 3000; ++i) {
      tensors.push_back(zeros({16}));  // 64 bytes and a header of 64
    }
    CHECK(memory_stats().live_tensors == before.live_tensors + 3000);
    CHECK(memory_stats().live_bytes == before.live_bytes + 3000 * 128);
  }
  CHECK(memory_stats().live_bytes == before.live_bytes);
  CHECK(memory_stats().peak_bytes == before.live_bytes + 3000 * 128);
}

TEST_CASE("memory_stats: what another thread freed is no longer live") {
  const MemoryStats before = memory_stats();
  std::vector<Tensor> tensors;
  for (int i = 0; i < 100; ++i) {
    tensors.push_back(zeros({16}));
  }
  std::thread([&] { tensors.clear(); }).join();
  CHECK(memory_stats().live_tensors == before.live_tensors);
  CHECK(memory_stats().live_bytes == before.live_bytes);
}

TEST_CASE("pool: small blocks go round between threads, not astray") {
  // One thread makes what another frees: what that one keeps is bounded, so
  // after a while no more memory is taken from the system.
  const auto round = [] {
    std::vector<Tensor> tensors;
    for (int i = 0; i < 20000; ++i) {
      tensors.push_back(Tensor({16}, kFloat32));
    }
    std::thread([&] { tensors.clear(); }).join();
  };
  round();
  const int64_t cached = memory_stats().cached_bytes;
  for (int i = 0; i < 10; ++i) {
    round();
  }
  CHECK(memory_stats().cached_bytes == cached);
}

TEST_CASE("block_allocate: is not counted as a tensor") {
  const MemoryStats before = memory_stats();
  void* const block = detail::block_allocate(300);
  CHECK(reinterpret_cast<uintptr_t>(block) % 64 == 0);
  CHECK(memory_stats().live_tensors == before.live_tensors);
  CHECK(memory_stats().live_bytes == before.live_bytes);
  detail::block_free(block, 300);
}

TEST_CASE("pool: impossible sizes throw bad_alloc and change nothing") {
  const MemoryStats before = memory_stats();
  CHECK_THROWS_AS(detail::pool_allocate(~size_t{0}), std::bad_alloc);
  CHECK_THROWS_AS(detail::pool_allocate((size_t{1} << 60) + 1), std::bad_alloc);
  CHECK(memory_stats().live_tensors == before.live_tensors);
  CHECK(memory_stats().live_bytes == before.live_bytes);
}

TEST_CASE("pool: works in a child forked while another thread uses it") {
  const MemoryStats before = memory_stats();
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      memory_stats();  // no malloc(): a sanitizer's may not be forked within
    }
  });
  int failed = 0;
  for (int i = 0; i < 200 && failed == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const Tensor large({1000}, kFloat32);
      const Tensor small({10}, kFloat32);
      _exit(memory_stats().live_tensors == before.live_tensors + 2 ? 0 : 1);
    }
    int status = 0;
    failed += child < 0 || waitpid(child, &status, 0) != child || status != 0;
  }
  stop = true;
  other.join();
  CHECK(failed == 0);
}

TEST_CASE("pool: many threads at once") {
  const MemoryStats before = memory_stats();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 2000; ++i) {
        Tensor x({(i * 7 + t) % 500 + 1}, kFloat32);
        x.mutable_data<float>()[0] = static_cast<float>(t);
        const Tensor view = x[0];
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(memory_stats().live_tensors == before.live_tensors);
  CHECK(memory_stats().live_bytes == before.live_bytes);
}
