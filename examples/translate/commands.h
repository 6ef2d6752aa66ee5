#pragma once

namespace translate {

// One function a command: `argv[0]` is its name, the rest its options. They
// return the program's exit status and throw std::exception for what went
// wrong.

int train_command(int argc, char** argv);
int run_command(int argc, char** argv);
int evaluate_command(int argc, char** argv);
int attention_command(int argc, char** argv);
int info_command(int argc, char** argv);

}  // namespace translate
