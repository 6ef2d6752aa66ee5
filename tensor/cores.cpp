#include "tensor/cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

namespace heed {
namespace {

/// Cores the scheduler may put this thread on; 0 when it will not say.
int schedulable_cores() {
#ifdef __linux__
  // The kernel refuses a set smaller than its own, so grow until it fits.
  for (size_t cpus = CPU_SETSIZE; cpus <= (size_t{1} << 20); cpus *= 2) {
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    std::vector<unsigned long> bits(bytes / sizeof(unsigned long) + 1);
    auto* set = reinterpret_cast<cpu_set_t*>(bits.data());
    if (sched_getaffinity(0, bytes, set) == 0) {
      return CPU_COUNT_S(bytes, set);
    }
  }
#endif
  return 0;
}

/// Quota / period of one group's folder, 0 when unlimited or absent.
double group_quota(const std::string& folder) {
  double quota = 0, period = 0;
  if (std::ifstream v2(folder + "/cpu.max"); v2 >> quota >> period) {
    return quota > 0 && period > 0 ? quota / period : 0;  // "max" fails to read
  }
  std::ifstream v1_quota(folder + "/cpu.cfs_quota_us");
  std::ifstream v1_period(folder + "/cpu.cfs_period_us");
  if (v1_quota >> quota && v1_period >> period && quota > 0 && period > 0) {
    return quota / period;
  }
  return 0;
}

/// The smallest quota from `group` up to the root. A container may see its own
/// group as the root of the mount, so folders that do not exist are passed by.
double smallest_quota(const std::string& mount, std::string group) {
  double smallest = 0;
  for (;;) {
    const double quota = group_quota(mount + group);
    if (quota > 0 && (smallest == 0 || quota < smallest)) {
      smallest = quota;
    }
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) {
      return smallest;
    }
    group.resize(slash);
  }
}

}  // namespace

double cpu_quota(const std::string& membership, const std::string& mount) {
  // One line a hierarchy: "0::/path" (version 2), "4:cpu,cpuacct:/path" (1).
  double smallest = 0;
  std::ifstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string names = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    std::vector<std::string> mounts;
    if (names.empty()) {
      mounts = {mount, mount + "/unified"};
    } else if (("," + names + ",").find(",cpu,") != std::string::npos) {
      mounts = {mount + "/" + names, mount + "/cpu"};
    }
    for (const std::string& root : mounts) {
      const double quota = smallest_quota(root, group);
      if (quota > 0 && (smallest == 0 || quota < smallest)) {
        smallest = quota;
      }
    }
  }
  return smallest;
}

int available_cores() {
  int cores = schedulable_cores();
  if (cores < 1) {
    cores = std::max(1u, std::thread::hardware_concurrency());
  }
  const double quota = cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  if (quota > 0 && quota < cores) {
    cores = std::max(1, static_cast<int>(std::ceil(quota)));
  }
  return cores;
}

}  // namespace heed
