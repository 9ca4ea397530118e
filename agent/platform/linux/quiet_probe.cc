#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "agent/platform/linux/proc_counters.h"
#include "agent/platform/machine.h"
#include "agent/platform/storage_stack.h"
#include "agent/platform/usage.h"
#include "common/time/clock.h"

namespace fleetmark::agent {
namespace {

constexpr double kBusyShareOfCpus = 0.05;
constexpr double kBusyBytesPerSecond = 1e6;
constexpr double kTickSlackSeconds = 0.02;      // two ticks of rounding in /proc/stat
constexpr uint64_t kBytesSlack = 256ull << 10;  // a journal commit is not a busy disk

}  // namespace

QuietProbe::QuietProbe(const std::string& target_path) {
  if (!target_path.empty()) {
    const absl::StatusOr<StorageStack> stack = ResolveStorageStack(target_path);
    if (stack.ok()) {
      for (const StackLayer& layer : stack->layers) {
        if (layer.lowest && layer.has_counters) devices_.push_back(layer.device);
      }
    }
  }
  monotonic_ns_ = SystemClock().MonotonicNs();
  busy_seconds_ = ReadHostCpu("").value_or(HostCpu{}).busy_seconds;
  own_seconds_ = ProcessCpuSeconds();
  device_bytes_ = DeviceBytes();
}

uint64_t QuietProbe::DeviceBytes() const {
  uint64_t bytes = 0;
  for (const std::string& device : devices_) {
    const DeviceCounters counters = ReadDeviceCounters(device).value_or(DeviceCounters{});
    bytes += counters.read_bytes + counters.written_bytes;
  }
  return bytes;
}

std::optional<std::string> QuietProbe::Busy() {
  const int64_t now_ns = SystemClock().MonotonicNs();
  const double busy = ReadHostCpu("").value_or(HostCpu{}).busy_seconds;
  const double own = ProcessCpuSeconds();
  const uint64_t bytes = DeviceBytes();

  const double elapsed = std::max(1e-3, static_cast<double>(now_ns - monotonic_ns_) * 1e-9);
  const double foreign_cpu = std::max(0.0, (busy - busy_seconds_) - (own - own_seconds_));
  const uint64_t moved = bytes > device_bytes_ ? bytes - device_bytes_ : 0;
  monotonic_ns_ = now_ns;
  busy_seconds_ = busy;
  own_seconds_ = own;
  device_bytes_ = bytes;

  const double cpus = static_cast<double>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  const double bytes_per_second = static_cast<double>(moved) / elapsed;
  std::vector<std::string> parts;
  if (foreign_cpu > kBusyShareOfCpus * cpus * elapsed + kTickSlackSeconds) {
    parts.push_back(absl::StrFormat("%.2g CPUs", foreign_cpu / elapsed));
  }
  if (bytes_per_second > kBusyBytesPerSecond && moved > kBytesSlack) {
    parts.push_back(absl::StrFormat("%.3g MB/s on %s", bytes_per_second / 1e6, absl::StrJoin(devices_, ", ")));
  }
  if (parts.empty()) return std::nullopt;
  return absl::StrJoin(parts, " and ") + " are in use by others";
}

}  // namespace fleetmark::agent
