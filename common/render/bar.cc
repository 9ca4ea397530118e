#include "common/render/bar.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace fleetmark {

std::string RenderBar(std::optional<double> percent, int width, bool utf8) {
  const int room = std::max(width, 3) - 2;
  const double done = percent.has_value() && std::isfinite(*percent) ? std::clamp(*percent, 0.0, 100.0) : 0.0;
  // Rounded down: full means finished.
  const int full = std::min(static_cast<int>(done / 100 * room + 1e-9), room);
  std::string bar = "[";
  for (int i = 0; i < room; ++i) {
    if (utf8) {
      bar += i < full ? "\xE2\x96\x88" : "\xE2\x96\x91";
    } else {
      bar += i < full ? '#' : i == full && done > 0 ? '>' : ' ';
    }
  }
  return bar + "]";
}

}  // namespace fleetmark
