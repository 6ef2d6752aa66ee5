// Measures libtorch on one of heed_bench's workloads.
//
//   torch_bench small               torch::nn::Transformer
//   torch_bench small --impl lean   the same network by hand on ATen operations
//   torch_bench --help              all workloads and options
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "bench/measurements.h"

int main(int argc, char** argv) {
  bench::Settings settings;
  CLI::App app("Measures libtorch on one workload: one line of JSON a figure.");
  bench::add_options(app, settings);
  app.add_option(
         "--impl",
         settings.impl,
         "The stock module, or written by hand on ATen operations")
      ->check(CLI::IsMember({"nn", "lean"}))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    at::set_num_threads(settings.threads);
    const std::string peer = "libtorch-" + std::to_string(TORCH_VERSION_MAJOR) +
                             "." + std::to_string(TORCH_VERSION_MINOR);
    bench::measure(settings, bench::Report(peer, settings.threads));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "torch_bench: %s\n", error.what());
    return 2;
  }
  return 0;
}
