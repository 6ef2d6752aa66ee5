#include "examples/translate/translator_options.h"

#include <heed/tensor/parallel.h>

#include "examples/translate/command_line.h"

namespace translate {

void add_translator_options(CLI::App& app, TranslatorOptions& options) {
  app.add_option("--beam", options.beam, "Hypotheses at a time; 1: greedy")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  app.add_option(
         "--alpha", options.alpha, "Of the length penalty ((5 + L) / 6)^alpha")
      ->check(in_range(0, 10))
      ->capture_default_str();
  app.add_option(
         "--max-length", options.max_length, "Tokens of a translation, at most")
      ->check(in_range(1, 100'000))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Lines translated together")
      ->check(in_range(1, 100'000))
      ->capture_default_str();
  app.add_option_function<int>(
         "--threads", heed::set_num_threads, "Default: one a core")
      ->check(in_range(1, 1024));
}

}  // namespace translate
