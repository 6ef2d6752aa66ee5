#pragma once

#include <string>

#include "examples/translate/attention_weights.h"

namespace translate {

/// A web page that needs nothing else: every layer and head of each kind of
/// attention, to choose from and to point at.
std::string attention_page(const Attention& attention);

}  // namespace translate
