#pragma once

namespace bench {

/// Memory that this process holds now, and the most it ever held, in MiB.
double resident_mb();
double peak_resident_mb();

/// CPU time, in percent of all cores, that was not this process's while it ran:
/// a run with more than a few percent is to be repeated. 0 where the system
/// does not say (it is read from /proc/stat).
class Noise {
 public:
  /// Counts from now on.
  Noise();
  /// Taken by other processes.
  double other_cpu_percent() const;
  /// Taken by other virtual machines.
  double steal_percent() const;

 private:
  struct Ticks {
    double busy = 0;
    double stolen = 0;
    double total = 0;
    double own = 0;
  };
  static Ticks read();
  static double percent(double part, double total);

  Ticks start_;
};

}  // namespace bench
