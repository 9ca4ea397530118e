// The order of a comparison's rows. Private to collector/analysis.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace fleetmark::collector {

// One order out of several that each know only a part: what is new in `next` comes after its predecessor there, or
// before the first that is known already, or last.
void MergeOrder(std::vector<size_t>& merged, const std::vector<size_t>& next);

template <typename Key>
std::vector<size_t> MergeOrders(const std::map<Key, std::vector<size_t>>& orders) {
  std::vector<size_t> merged;
  for (const auto& [key, order] : orders) MergeOrder(merged, order);
  return merged;
}

}  // namespace fleetmark::collector
