#pragma once

namespace bench {

/// What the command line says of every measurement.
struct Settings {
  int threads = 2;
  double min_ms = 4000;   // to be spent on a figure at least
  double max_ms = 40000;  // and about at most
};

}  // namespace bench
