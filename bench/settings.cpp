#include "bench/settings.h"

#include <CLI/CLI.hpp>

namespace bench {

void add_options(CLI::App& app, Settings& settings) {
  app.add_option(
         "workload",
         settings.workload,
         "copy, tiny, small, base, gpt (training steps); ops or ops:NAME "
         "(list-ops: "
         "their names); overhead; startup; decode1, decode32; "
         "decode:multi30k,beam=5,batch=32; "
         "scaling:d=256,T=64,B=32")
      ->required();
  app.add_option("--threads", settings.threads, "Threads to use")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--min-ms", settings.min_ms, "Time to spend on a figure")
      ->capture_default_str();
  app.add_option("--max-ms", settings.max_ms, "Time to spend at most, about")
      ->capture_default_str();
}

}  // namespace bench
