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
    const Sum sum = Read(level).value_or(Sum{});
    level.start_read = sum.read;
    level.start_written = sum.written;
  }
}

std::optional<StackCounters::Sum> StackCounters::Read(const Level& level) const {
  Sum sum;
  for (const std::string& device : level.devices) {
    const std::optional<DeviceCounters> counters = ReadDeviceCounters(device, root_);
    if (!counters) return std::nullopt;
    sum.read += counters->read_bytes;
    sum.written += counters->written_bytes;
  }
  return sum;
}

std::optional<uint64_t> StackCounters::LeastGrowth(uint64_t Sum::*sum, uint64_t Level::*start) const {
  std::optional<uint64_t> least;
  for (const Level& level : levels_) {
    const std::optional<Sum> now = Read(level);
    // A counter that went backwards belongs to a device that was replaced: its level tells nothing.
    if (!now || (*now).*sum < level.*start) continue;
    const uint64_t growth = (*now).*sum - level.*start;
    least = least ? std::min(*least, growth) : growth;
  }
  return least;
}

std::optional<uint64_t> StackCounters::ReadBytes() const { return LeastGrowth(&Sum::read, &Level::start_read); }

std::optional<uint64_t> StackCounters::WrittenBytes() const {
  return LeastGrowth(&Sum::written, &Level::start_written);
}

std::optional<uint64_t> StackCounters::TopReadBytes() const {
  if (levels_.empty()) return std::nullopt;
  const std::optional<Sum> now = Read(levels_.front());
  if (!now || now->read < levels_.front().start_read) return std::nullopt;
  return now->read - levels_.front().start_read;
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
