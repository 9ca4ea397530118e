// A progress bar of a fixed width. Pure.
#pragma once

#include <optional>
#include <string>

namespace fleetmark {

// "[#########>          ]" or with block characters; exactly `width` columns (>= 3). Unknown is an empty bar; out of
// range is clamped, so that it never overflows.
std::string RenderBar(std::optional<double> percent, int width, bool utf8);

}  // namespace fleetmark
