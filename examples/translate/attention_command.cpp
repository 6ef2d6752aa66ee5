#include <cstdio>

#include "examples/translate/commands.h"

namespace translate {

int attention_command(int, char**) { return 2; }

}  // namespace translate
