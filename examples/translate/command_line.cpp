#include "examples/translate/command_line.h"

#include <algorithm>
#include <cstdio>
#include <string>

namespace translate {

ParseResult parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help
    return {false, app.exit(success)};
  } catch (const CLI::ParseError& error) {
    std::string what = error.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    std::fprintf(
        stderr,
        "%s: %s; see %s --help\n",
        app.get_name().c_str(),
        what.c_str(),
        app.get_name().c_str());
    return {false, 2};
  }
  return {};
}

}  // namespace translate
