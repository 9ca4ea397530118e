// Clean UTF-8 for a terminal that shows ASCII only. Private to common/render.
#pragma once

#include <string>
#include <string_view>

namespace fleetmark::internal {

// "µ" is "u", "°" nothing, dashes, quotes and the like what comes nearest, anything else "?".
std::string ToAscii(std::string_view text);

}  // namespace fleetmark::internal
