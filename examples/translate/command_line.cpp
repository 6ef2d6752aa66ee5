#include "examples/translate/command_line.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>

namespace translate {

std::string one_line(std::string what) {
  std::replace_if(
      what.begin(),
      what.end(),
      [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; },
      ' ');
  constexpr size_t kLongest = 500;
  if (what.size() > kLongest) {
    size_t end = kLongest;
    while (end > 0 && (what[end] & 0xc0) == 0x80) {  // within a character
      --end;
    }
    what.replace(end, std::string::npos, " ...");
  }
  return what;
}

CLI::Validator in_range(double low, double high) {
  return CLI::Validator(
      [low, high](const std::string& input) {
        double value = 0;
        if (CLI::detail::lexical_cast(input, value) && value >= low &&
            value <= high) {
          return std::string();
        }
        std::ostringstream message;
        message << "must be in [" << low << ", " << high << "], got " << input;
        return message.str();
      },
      "");
}

ParseResult parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help
    return {false, app.exit(success)};
  } catch (const CLI::ParseError& error) {
    std::fprintf(
        stderr,
        "%s: %s; see %s --help\n",
        app.get_name().c_str(),
        one_line(error.what()).c_str(),
        app.get_name().c_str());
    return {false, 2};
  }
  return {};
}

}  // namespace translate
