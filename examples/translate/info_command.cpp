#include <cstdio>

#include "examples/translate/commands.h"

namespace translate {

int info_command(int, char**) { return 2; }

}  // namespace translate
