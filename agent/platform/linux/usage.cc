#include "agent/platform/usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "agent/platform/linux/proc_counters.h"
#include "agent/platform/linux/sysfs.h"
#include "common/time/clock.h"

namespace fleetmark::agent {
namespace {

constexpr double kShortestHostWindowSeconds = 2.0;  // ticks are 10 ms: shorter windows are mostly rounding

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::optional<uint64_t> LineValue(std::string_view text, std::string_view name) {
  for (const std::string_view line : SplitLines(text)) {
    if (line.size() > name.size() && line.substr(0, name.size()) == name && line[name.size()] == ':') {
      return ParseUnsigned(Trim(line.substr(name.size() + 1)));
    }
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> Growth(const std::optional<T>& begin, const std::optional<T>& end) {
  if (!begin || !end || *end < *begin) return std::nullopt;
  return *end - *begin;
}

}  // namespace

double ProcessCpuSeconds() {
  rusage own{}, children{};
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &children);
  return Seconds(own.ru_utime) + Seconds(own.ru_stime) + Seconds(children.ru_utime) + Seconds(children.ru_stime);
}

std::optional<HostCpu> ReadHostCpu(const std::string& root) {
  const std::optional<std::string> text = ReadText(root + "/proc/stat");
  if (!text) return std::nullopt;
  for (const std::string_view line : SplitLines(*text)) {
    const std::vector<std::string_view> fields = SplitFields(line);
    if (fields.size() < 5 || fields[0] != "cpu") continue;
    double ticks[10] = {};  // user nice system idle iowait irq softirq steal guest guest_nice
    for (size_t i = 1; i < fields.size() && i <= 10; ++i) {
      ticks[i - 1] = static_cast<double>(ParseUnsigned(fields[i]).value_or(0));
    }
    const double per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
    HostCpu cpu;
    cpu.busy_seconds = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / per_second;  // guests are in user, nice
    cpu.idle_seconds = (ticks[3] + ticks[4]) / per_second;
    cpu.steal_seconds = ticks[7] / per_second;
    return cpu;
  }
  return std::nullopt;
}

UsageSnapshot TakeUsage() {
  UsageSnapshot snapshot;
  snapshot.monotonic_ns = SystemClock().MonotonicNs();
  snapshot.process_cpu_seconds = ProcessCpuSeconds();
  if (const std::optional<HostCpu> cpu = ReadHostCpu("")) {
    snapshot.host_busy_seconds = cpu->busy_seconds;
    snapshot.host_idle_seconds = cpu->idle_seconds;
    snapshot.steal_seconds = cpu->steal_seconds;
  }
  if (const std::optional<std::string> io = ReadText("/proc/self/io")) {
    snapshot.process_read_bytes = LineValue(*io, "read_bytes");
    snapshot.process_written_bytes = LineValue(*io, "write_bytes");
  }
  return snapshot;
}

Usage UsageBetween(const UsageSnapshot& begin, const UsageSnapshot& end, double idle_baseline_cpus) {
  Usage usage;
  usage.elapsed_seconds = static_cast<double>(end.monotonic_ns - begin.monotonic_ns) * 1e-9;
  usage.process_cpu_seconds = std::max(0.0, end.process_cpu_seconds - begin.process_cpu_seconds);
  usage.steal_seconds = Growth(begin.steal_seconds, end.steal_seconds);
  usage.process_read_bytes = Growth(begin.process_read_bytes, end.process_read_bytes);
  usage.process_written_bytes = Growth(begin.process_written_bytes, end.process_written_bytes);
  const std::optional<double> busy = Growth(begin.host_busy_seconds, end.host_busy_seconds);
  if (busy && usage.elapsed_seconds >= kShortestHostWindowSeconds) {
    usage.host_cpu_seconds = std::max(0.0, *busy - idle_baseline_cpus * usage.elapsed_seconds);
  }
  return usage;
}

void SetCost(const Usage& usage, double share, v1::Measurement& measurement) {
  measurement.set_process_cpu_seconds(usage.process_cpu_seconds * share);
  if (usage.host_cpu_seconds) measurement.set_host_cpu_seconds(*usage.host_cpu_seconds * share);
  if (usage.steal_seconds) measurement.set_steal_seconds(*usage.steal_seconds * share);
}

double MeasureIdleBaseline(double seconds) {
  const UsageSnapshot begin = TakeUsage();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const UsageSnapshot end = TakeUsage();
  const double elapsed = static_cast<double>(end.monotonic_ns - begin.monotonic_ns) * 1e-9;
  const std::optional<double> busy = Growth(begin.host_busy_seconds, end.host_busy_seconds);
  if (!busy || elapsed <= 0) return 0;
  return std::max(0.0, *busy - (end.process_cpu_seconds - begin.process_cpu_seconds)) / elapsed;
}

}  // namespace fleetmark::agent
