#pragma once

#include <CLI/CLI.hpp>

namespace translate {

/// Whether a command goes on after its options were read, or ends with a
/// status: after --help, or an option that is wrong.
struct ParseResult {
  bool go_on = true;
  int status = 0;
};

/// Reads the options of a command. What is wrong is told in one line, status 2.
ParseResult parse(CLI::App& app, int argc, char** argv);

}  // namespace translate
