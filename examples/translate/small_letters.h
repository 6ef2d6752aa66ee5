#pragma once

#include <cstdint>

namespace translate {

/// The small letter of a capital one, of any script: Unicode's simple lower
/// case mapping. Any other character is its own. No locale is asked.
uint32_t small_letter(uint32_t c);

}  // namespace translate
