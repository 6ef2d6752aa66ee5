#include "bench/machine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace bench {

double resident_mb() {
  double pages = 0;
  double resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double peak_resident_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
#else
  return static_cast<double>(usage.ru_maxrss) / (1 << 10);
#endif
}

Noise::Noise() : start_(read()) {}

double Noise::other_cpu_percent() const {
  const Ticks now = read();
  const double own = now.own - start_.own;
  return percent(now.busy - start_.busy - own, now.total - start_.total);
}

double Noise::steal_percent() const {
  const Ticks now = read();
  return percent(now.stolen - start_.stolen, now.total - start_.total);
}

Noise::Ticks Noise::read() {
  std::string cpu;
  double user = 0;
  double nice = 0;
  double system = 0;
  double idle = 0;
  double waiting = 0;
  double irq = 0;
  double soft_irq = 0;
  double stolen = 0;
  std::ifstream("/proc/stat") >> cpu >> user >> nice >> system >> idle >>
      waiting >> irq >> soft_irq >> stolen;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) * 1e-6;
  };
  Ticks ticks;
  ticks.busy = user + nice + system + irq + soft_irq;
  ticks.stolen = stolen;
  ticks.total = ticks.busy + idle + waiting + stolen;
  ticks.own = (seconds(usage.ru_utime) + seconds(usage.ru_stime)) *
              static_cast<double>(sysconf(_SC_CLK_TCK));
  return ticks;
}

double Noise::percent(double part, double total) {
  return total > 0 ? std::max(0.0, 100 * part / total) : 0;
}

}  // namespace bench
