#include <unistd.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/platform/linux/cgroup.h"
#include "agent/platform/linux/proc_counters.h"
#include "agent/platform/linux/sysfs.h"
#include "agent/platform/usage.h"
#include "common/time/clock.h"

namespace fleetmark::agent {
namespace {

constexpr double kShortestCpuWindowSeconds = 0.2;  // below, ticks of 10 ms say nothing about others

// total= of the "some" line, microseconds.
std::optional<double> Pressure(const std::string& root, const char* what) {
  const std::optional<std::string> text = ReadText(root + "/proc/pressure/" + what);
  if (!text) return std::nullopt;
  for (const std::string_view line : SplitLines(*text)) {
    if (line.substr(0, 5) != "some ") continue;
    const size_t at = line.find("total=");
    if (at == std::string_view::npos) return std::nullopt;
    const std::optional<uint64_t> total = ParseUnsigned(line.substr(at + 6));
    if (total) return static_cast<double>(*total);
  }
  return std::nullopt;
}

std::optional<double> SwappedPages(const std::string& root) {
  const std::optional<std::string> text = ReadText(root + "/proc/vmstat");
  if (!text) return std::nullopt;
  std::optional<double> pages;
  for (const std::string_view line : SplitLines(*text)) {
    if (line.substr(0, 7) != "pswpin " && line.substr(0, 8) != "pswpout ") continue;
    const std::optional<uint64_t> count = ParseUnsigned(Trim(line.substr(line.find(' '))));
    if (count) pages = pages.value_or(0) + static_cast<double>(*count);
  }
  return pages;
}

std::optional<double> Frequency(const std::string& root) {
  double sum = 0;
  unsigned cpus = 0;
  const std::string directory = root + "/sys/devices/system/cpu";
  for (const int cpu : ParseCpuList(ReadText(directory + "/online").value_or(""))) {
    const auto khz = ReadUnsigned(directory + "/cpu" + std::to_string(cpu) + "/cpufreq/scaling_cur_freq");
    if (!khz || *khz == 0) continue;
    sum += static_cast<double>(*khz) * 1e3;
    ++cpus;
  }
  if (cpus > 0) return sum / cpus;
  const std::string cpuinfo = ReadText(root + "/proc/cpuinfo").value_or("");  // outlives the views of its lines
  for (const std::string_view line : SplitLines(cpuinfo)) {
    if (line.substr(0, 7) != "cpu MHz") continue;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view number = Trim(line.substr(colon + 1));
    double mhz = 0;
    if (!absl::SimpleAtod(absl::string_view(number.data(), number.size()), &mhz) || !(mhz > 0)) continue;
    sum += mhz * 1e6;
    ++cpus;
  }
  if (cpus > 0) return sum / cpus;
  return std::nullopt;
}

std::optional<bool> OnBattery(const std::string& root) {
  const std::string directory = root + "/sys/class/power_supply";
  bool mains = false, battery = false;
  for (const std::string& name : ListDirectory(directory)) {
    const std::string supply = absl::StrCat(directory, "/", name);
    const std::string type = ReadTrimmed(supply + "/type").value_or("");
    if (type == "Battery") {
      // A mouse or headset has a battery too: its scope says so.
      if (ReadTrimmed(supply + "/scope").value_or("") != "Device") battery = true;
    } else if (const std::optional<uint64_t> online = ReadUnsigned(supply + "/online")) {
      if (*online > 0) return false;
      mains = true;
    }
  }
  if (!battery && !mains) return std::nullopt;
  return battery;
}

template <typename Set>
void SetGrowth(const std::optional<double>& begin, const std::optional<double>& end, double scale, Set set) {
  if (begin && end && *end >= *begin) set((*end - *begin) * scale);
}

}  // namespace

ConditionsProbe::ConditionsProbe(std::string root) : root_(std::move(root)) { Begin(); }

ConditionsProbe::Counters ConditionsProbe::Read() const {
  Counters counters;
  counters.monotonic_ns = SystemClock().MonotonicNs();
  counters.boot_ns = SystemClock().BootNs();
  counters.cpu_pressure_us = Pressure(root_, "cpu");
  counters.io_pressure_us = Pressure(root_, "io");
  counters.memory_pressure_us = Pressure(root_, "memory");
  counters.swapped_pages = SwappedPages(root_);
  counters.quota_throttled_ns = ReadThrottledNs(root_);
  if (const std::optional<HostCpu> cpu = ReadHostCpu(root_)) counters.busy_seconds = cpu->busy_seconds;
  counters.own_cpu_seconds = ProcessCpuSeconds();
  return counters;
}

void ConditionsProbe::Begin() { begin_ = Read(); }

void ConditionsProbe::End(v1::Conditions& conditions) const {
  const Counters end = Read();
  const double elapsed = static_cast<double>(end.monotonic_ns - begin_.monotonic_ns) * 1e-9;
  if (const std::optional<std::string> load = ReadTrimmed(root_ + "/proc/loadavg")) {
    double value = 0;
    if (absl::SimpleAtod(load->substr(0, load->find(' ')), &value)) conditions.set_load_average_1min(value);
  }
  if (elapsed > 0) {
    const double share = 1e-6 / elapsed;
    const auto at_most_one = [](double value) { return std::min(1.0, value); };
    SetGrowth(begin_.cpu_pressure_us, end.cpu_pressure_us, share,
              [&](double v) { conditions.set_cpu_pressure(at_most_one(v)); });
    SetGrowth(begin_.io_pressure_us, end.io_pressure_us, share,
              [&](double v) { conditions.set_io_pressure(at_most_one(v)); });
    SetGrowth(begin_.memory_pressure_us, end.memory_pressure_us, share,
              [&](double v) { conditions.set_memory_pressure(at_most_one(v)); });
  }
  if (const std::optional<double> hertz = Frequency(root_)) conditions.set_frequency_hz(*hertz);
  SetGrowth(begin_.swapped_pages, end.swapped_pages, static_cast<double>(sysconf(_SC_PAGESIZE)),
            [&](double v) { conditions.set_swapped_bytes(v); });
  SetGrowth(begin_.quota_throttled_ns, end.quota_throttled_ns, 1e-9,
            [&](double v) { conditions.set_cpu_quota_throttled_seconds(v); });
  if (elapsed >= kShortestCpuWindowSeconds) {
    const double own = end.own_cpu_seconds - begin_.own_cpu_seconds;
    SetGrowth(begin_.busy_seconds, end.busy_seconds, 1.0,
              [&](double busy) { conditions.set_foreign_cpu_cpus(std::max(0.0, busy - own) / elapsed); });
  }
  const int64_t slept_ns = (end.boot_ns - begin_.boot_ns) - (end.monotonic_ns - begin_.monotonic_ns);
  constexpr int64_t kReadingJitterNs = 1'000'000;  // the two clocks are not read at the same instant
  conditions.set_slept_seconds(slept_ns > kReadingJitterNs ? static_cast<double>(slept_ns) * 1e-9 : 0.0);
  if (const std::optional<bool> battery = OnBattery(root_)) conditions.set_on_battery(*battery);
}

}  // namespace fleetmark::agent
