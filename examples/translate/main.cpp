// Translates with a Transformer that it trains itself.
//
//   translate train               English number words to German, in a minute
//   translate run                 translates what comes in
//   translate --help              all commands
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "examples/translate/command_line.h"
#include "examples/translate/commands.h"

namespace {

struct Command {
  std::string_view name;
  int (*run)(int argc, char** argv);
  const char* help;
};

constexpr Command kCommands[] = {
    {"train",
     translate::train_command,
     "learn from number words, or a text and its translation"},
    {"run", translate::run_command, "translate lines, or at a prompt"},
    {"evaluate", translate::evaluate_command, "BLEU and chrF of translations"},
    {"attention",
     translate::attention_command,
     "draw what each head looks at, as a web page or in the terminal"},
    {"info", translate::info_command, "what a model is"}};

void print_help(std::FILE* out) {
  std::fprintf(
      out,
      "Trains small Transformers to translate, and translates with them.\n\n");
  for (const Command& command : kCommands) {
    std::fprintf(
        out, "  translate %-10s %s\n", command.name.data(), command.help);
  }
  std::fprintf(
      out,
      "\n`translate COMMAND --help` lists the options of a command.\n"
      "Exit status: 0 done, 1 a goal was not reached, 2 bad options or "
      "files.\n");
}

int run(const Command& command, int argc, char** argv) {
  try {
    return command.run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "translate: there is not enough memory for that\n");
    return 2;
  } catch (const std::exception& error) {
    const std::string what = translate::one_line(error.what());
    const bool named =
        what.starts_with("translate ") || what.starts_with("translate:");
    std::fprintf(stderr, "%s%s\n", named ? "" : "translate: ", what.c_str());
    return 2;
  }
}

int translate_main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help") {
    print_help(stdout);
    return 0;
  }
  for (const Command& command : kCommands) {
    if (command.name == name) {
      return run(command, argc - 1, argv + 1);
    }
  }
  if (name.empty()) {
    print_help(stderr);
  } else {
    std::fprintf(
        stderr,
        "translate: there is no command \"%s\"; see translate --help\n",
        translate::one_line(argv[1]).c_str());
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const int status = translate_main(argc, argv);
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (status == 0 && !written) {
    std::fprintf(stderr, "translate: the output cannot be written\n");
    return 2;
  }
  return status;
}
