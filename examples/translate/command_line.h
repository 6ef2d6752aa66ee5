#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace translate {

/// Whether a command goes on after its options were read, or ends with a
/// status: after --help, or an option that is wrong.
struct ParseResult {
  bool go_on = true;
  int status = 0;
};

/// A message for a single line: without control characters, and cut where it
/// gets long.
std::string one_line(std::string what);

/// Refuses what is no number of [low, high], NaN included.
CLI::Validator in_range(double low, double high);

/// Reads the options of a command. What is wrong is told in one line, status 2.
ParseResult parse(CLI::App& app, int argc, char** argv);

}  // namespace translate
