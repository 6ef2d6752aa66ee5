#include "tensor/cores.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#ifdef __linux__
#include <sched.h>
#endif

using namespace heed;
namespace fs = std::filesystem;

namespace {

/// A folder that looks like /proc/self/cgroup and /sys/fs/cgroup.
class FakeGroups {
 public:
  FakeGroups()
      : root_(
            fs::temp_directory_path() /
            ("heed_cores_test_" + std::to_string(getpid()))) {
    fs::create_directories(root_);
  }
  ~FakeGroups() { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  double quota() const { return cpu_quota(root_ / "groups", root_ / "mount"); }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("cpu_quota: version 2 takes the smallest up to the root") {
  FakeGroups groups;
  groups.write("groups", "0::/a/b\n");
  CHECK(groups.quota() == 0);
  groups.write("mount/a/b/cpu.max", "max 100000\n");
  CHECK(groups.quota() == 0);
  groups.write("mount/a/cpu.max", "250000 100000\n");
  CHECK(groups.quota() == 2.5);
  groups.write("mount/a/b/cpu.max", "50000 100000\n");
  CHECK(groups.quota() == 0.5);
}

TEST_CASE("cpu_quota: version 1 reads the cpu hierarchy only") {
  FakeGroups groups;
  groups.write("groups", "9:name=systemd:/x\n3:cpuset:/x\n2:cpu,cpuacct:/x\n");
  groups.write("mount/cpuset/x/cpu.cfs_quota_us", "100000\n");
  groups.write("mount/cpuset/x/cpu.cfs_period_us", "100000\n");
  CHECK(groups.quota() == 0);
  groups.write("mount/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  groups.write("mount/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  CHECK(groups.quota() == 0);
  groups.write("mount/cpu,cpuacct/x/cpu.cfs_quota_us", "150000\n");
  CHECK(groups.quota() == 1.5);
}

TEST_CASE("cpu_quota: a container's group is the root of its mount") {
  FakeGroups groups;
  groups.write("groups", "2:cpu:/docker/0123\n");
  groups.write("mount/cpu/cpu.cfs_quota_us", "400000\n");
  groups.write("mount/cpu/cpu.cfs_period_us", "200000\n");
  CHECK(groups.quota() == 2);
}

TEST_CASE("cpu_quota: files that say nothing are no quota") {
  FakeGroups groups;
  CHECK(groups.quota() == 0);
  groups.write("groups", "\n:\nnonsense\n0::\n");
  groups.write("mount/cpu.max", "what\n");
  CHECK(groups.quota() == 0);
}

TEST_CASE("available_cores: at least one") { CHECK(available_cores() >= 1); }

#ifdef __linux__
TEST_CASE("available_cores: a process bound to one core has one") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
    }
  }
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(available_cores() == 1);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}
#endif
