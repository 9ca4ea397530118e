#include "collector/analysis/row_order.h"

#include <algorithm>

namespace fleetmark::collector {

void MergeOrder(std::vector<size_t>& merged, const std::vector<size_t>& next) {
  for (size_t i = 0; i < next.size(); ++i) {
    if (std::find(merged.begin(), merged.end(), next[i]) != merged.end()) continue;
    auto place = merged.end();
    if (i > 0) {
      place = std::find(merged.begin(), merged.end(), next[i - 1]) + 1;
    } else if (const auto known = std::find_first_of(next.begin(), next.end(), merged.begin(), merged.end());
               known != next.end()) {
      place = std::find(merged.begin(), merged.end(), *known);
    }
    merged.insert(place, next[i]);
  }
}

}  // namespace fleetmark::collector
