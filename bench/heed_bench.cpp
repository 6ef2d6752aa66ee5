// Measures heed on one workload, and prints one line of JSON a figure.
//
//   heed_bench small                     training steps; also copy, tiny, ...
//   heed_bench ops:softmax_fwd_bwd       one operation; `ops`: all of them
//   heed_bench --help                    all workloads and options
#include <heed/heed.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "bench/measurements.h"

int main(int argc, char** argv) {
  bench::Settings settings;
  CLI::App app("Measures heed on one workload: one line of JSON a figure.");
  bench::add_options(app, settings);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    heed::set_num_threads(settings.threads);
    bench::measure(settings, bench::Report("heed", settings.threads));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heed_bench: %s\n", error.what());
    return 2;
  }
  return 0;
}
