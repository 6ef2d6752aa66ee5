#pragma once

#include "examples/translate/command_line.h"
#include "examples/translate/translator.h"

namespace translate {

/// The options that all commands which translate have: --beam, --alpha,
/// --max-length, --batch and --threads, which takes effect as it is read.
void add_translator_options(CLI::App& app, TranslatorOptions& options);

}  // namespace translate
