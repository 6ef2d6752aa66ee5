#pragma once

#include <string>

namespace heed {

/// Cores this process may keep busy, >= 1: those it may be scheduled on
/// (`taskset`, cpusets), but no more than its control group's CPU quota,
/// rounded up, pays for (containers, `systemd-run -p CPUQuota=200%`).
int available_cores();

/// The CPU quota in cores, the smallest one between a process' control group
/// and the root; 0 when there is none. Versions 1 and 2 are read.
///
/// Parameters:  membership  the file listing the groups, /proc/self/cgroup
///              mount       where they are mounted, /sys/fs/cgroup
double cpu_quota(const std::string& membership, const std::string& mount);

}  // namespace heed
