#pragma once

#include <string>

namespace CLI {
class App;
}

namespace bench {

/// What the command line says of every measurement.
struct Settings {
  std::string workload;
  int threads = 2;
  double min_ms = 4000;   // to be spent on a figure at least
  double max_ms = 40000;  // and about at most
  /// Which way, of a program that has several.
  std::string impl = "nn";
};

/// Makes the command line fill in all but `impl`.
void add_options(CLI::App& app, Settings& settings);

}  // namespace bench
