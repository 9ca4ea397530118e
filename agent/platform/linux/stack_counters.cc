#include <algorithm>

#include "agent/platform/linux/block_layers.h"
#include "agent/platform/linux/sysfs.h"
#include "agent/platform/storage_stack.h"

namespace fleetmark::agent {
namespace {

// The kernel's unit in `stat`, whatever the device's block size.
constexpr uint64_t kSectorBytes = 512;

}  // namespace

std::optional<DeviceCounters> ReadDeviceCounters(const std::string& device, const std::string& root) {
  if (device.empty()) return std::nullopt;
  const std::optional<std::string> text = ReadTrimmed(BlockDirectory(device, root) + "/stat");
  if (!text) return std::nullopt;
  const std::vector<std::string_view> fields = SplitFields(*text);
  if (fields.size() < 9) return std::nullopt;
  const std::optional<uint64_t> read = ParseUnsigned(fields[2]);
  const std::optional<uint64_t> written = ParseUnsigned(fields[6]);
  const std::optional<uint64_t> in_flight = ParseUnsigned(fields[8]);
  if (!read || !written || !in_flight) return std::nullopt;
  return DeviceCounters{*read * kSectorBytes, *written * kSectorBytes, *in_flight};
}

StackCounters::StackCounters(const StorageStack& stack, std::string root) : root_(std::move(root)) {
  unsigned deepest = 0;
  for (const StackLayer& layer : stack.layers) {
    deepest = std::max(deepest, layer.level);
    memory_backed_ = memory_backed_ || layer.memory_backed;
  }
  for (unsigned number = 0; number <= deepest; ++number) {
    Level level;
    bool complete = true;
    bool any_of_its_own = false;
    for (const StackLayer& layer : stack.layers) {
      const bool here = layer.level == number;
      if (!here && !(layer.lowest && layer.level < number)) continue;
      complete = complete && layer.has_counters;
      any_of_its_own = any_of_its_own || here;
      level.devices.push_back(layer.device);
    }
    if (complete && any_of_its_own) levels_.push_back(std::move(level));
  }
}

void StackCounters::Start() {
  for (Level& level : levels_) {
    level.start.clear();
    for (const std::string& device : level.devices) {
      if (const auto counters = ReadDeviceCounters(device, root_)) level.start.push_back(*counters);
    }
  }
}

std::optional<uint64_t> StackCounters::Growth(const Level& level, uint64_t DeviceCounters::*counter) const {
  if (level.start.size() != level.devices.size()) return std::nullopt;  // not started, or gone then
  uint64_t growth = 0;
  for (size_t i = 0; i < level.devices.size(); ++i) {
    const std::optional<DeviceCounters> now = ReadDeviceCounters(level.devices[i], root_);
    if (!now || (*now).*counter < level.start[i].*counter) return std::nullopt;
    growth += (*now).*counter - level.start[i].*counter;
  }
  return growth;
}

std::optional<uint64_t> StackCounters::LeastGrowth(uint64_t DeviceCounters::*counter) const {
  std::optional<uint64_t> least;
  for (const Level& level : levels_) {
    const std::optional<uint64_t> growth = Growth(level, counter);
    if (growth) least = least ? std::min(*least, *growth) : *growth;
  }
  return least;
}

std::optional<uint64_t> StackCounters::ReadBytes() const { return LeastGrowth(&DeviceCounters::read_bytes); }

std::optional<uint64_t> StackCounters::WrittenBytes() const { return LeastGrowth(&DeviceCounters::written_bytes); }

std::optional<uint64_t> StackCounters::TopReadBytes() const {
  if (levels_.empty()) return std::nullopt;
  return Growth(levels_.front(), &DeviceCounters::read_bytes);
}

bool StackCounters::Idle() const {
  for (const Level& level : levels_) {
    for (const std::string& device : level.devices) {
      const std::optional<DeviceCounters> counters = ReadDeviceCounters(device, root_);
      if (counters && counters->in_flight > 0) return false;
    }
  }
  return true;
}

}  // namespace fleetmark::agent
