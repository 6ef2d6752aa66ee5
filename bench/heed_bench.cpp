// Measures heed on one workload, and prints one line of JSON a figure.
//
//   heed_bench small          training steps: copy, tiny, small, base, gpt
//   heed_bench --help         all options
#include <heed/heed.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "bench/measurements.h"
#include "bench/report.h"
#include "bench/settings.h"
#include "bench/workload.h"

namespace {

void measure(const std::string& workload, const bench::Settings& settings) {
  const bench::Report report("heed", settings.threads);
  if (workload == "gpt") {
    bench::measure_gpt(settings, report);
  } else {
    bench::measure_seq2seq(bench::seq2seq_workload(workload), settings, report);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string workload;
  bench::Settings settings;
  CLI::App app("Measures heed on one workload: one line of JSON a figure.");
  app.add_option("workload", workload, "copy, tiny, small, base, gpt")
      ->required();
  app.add_option("--threads", settings.threads, "Threads to use")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--min-ms", settings.min_ms, "Time to spend on a figure")
      ->capture_default_str();
  app.add_option("--max-ms", settings.max_ms, "Time to spend at most, about")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    heed::set_num_threads(settings.threads);
    measure(workload, settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heed_bench: %s\n", error.what());
    return 2;
  }
  return 0;
}
