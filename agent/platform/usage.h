// What a stretch of work cost: CPU of the process tree and of the whole machine, bytes of the process's own I/O, and
// what was true of the machine meanwhile. Readers of /proc and cgroup files; any thread; absent means not readable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleetmark/v1/result.pb.h"

namespace fleetmark::agent {

struct UsageSnapshot {
  int64_t monotonic_ns = 0;
  double process_cpu_seconds = 0;           // user + system of this process and its ended children (getrusage)
  std::optional<double> host_busy_seconds;  // /proc/stat, all CPUs, without idle and iowait
  std::optional<double> host_idle_seconds;
  std::optional<double> steal_seconds;
  std::optional<uint64_t> process_read_bytes;     // /proc/self/io read_bytes (reached the block layer)
  std::optional<uint64_t> process_written_bytes;  // write_bytes
};
UsageSnapshot TakeUsage();

struct Usage {
  double elapsed_seconds = 0;
  double process_cpu_seconds = 0;
  std::optional<double> host_cpu_seconds;  // less baseline x elapsed; absent for windows under 2 s
  std::optional<double> steal_seconds;
  std::optional<uint64_t> process_read_bytes;
  std::optional<uint64_t> process_written_bytes;
};
// `idle_baseline_cpus`: CPUs busy when nothing is measured (see MeasureIdleBaseline).
Usage UsageBetween(const UsageSnapshot& begin, const UsageSnapshot& end, double idle_baseline_cpus);

// CPU and steal of a measurement; `share` of them, 0..1, where several measurements took turns meanwhile.
void SetCost(const Usage& usage, double share, v1::Measurement& measurement);

// CPUs kept busy by the whole machine over `seconds` of this process's sleep.
double MeasureIdleBaseline(double seconds);

// Share of the file in the page cache, 0..1 (cachestat where the kernel has it, else mincore). nullopt: not known.
std::optional<double> PageCacheResidency(int fd, uint64_t offset, uint64_t length);

// Conditions over a stretch: Begin, then End fills the message. One thread at a time.
class ConditionsProbe {
 public:
  explicit ConditionsProbe(std::string root = "");
  void Begin();
  void End(v1::Conditions& conditions) const;

 private:
  std::string root_;
  struct Counters {
    int64_t monotonic_ns = 0;
    int64_t boot_ns = 0;
    std::optional<double> cpu_pressure_us, io_pressure_us, memory_pressure_us;
    std::optional<double> swapped_pages;
    std::optional<double> quota_throttled_ns;
    std::optional<double> busy_seconds;
    double own_cpu_seconds = 0;
  };
  Counters Read() const;
  Counters begin_;
};

// Is anything else busy? For the bounded wait for a quiet machine (C-022): foreign CPU over 5 % of the CPUs, or foreign
// I/O of 1 MB/s on the devices under `target_path` ("" = no disk). Compares against the counters of the call before.
class QuietProbe {
 public:
  explicit QuietProbe(const std::string& target_path);
  // nullopt: quiet since the last call; else what is busy, "0.8 CPUs and 12 MB/s on vda are in use by others".
  std::optional<std::string> Busy();

 private:
  uint64_t DeviceBytes() const;

  std::vector<std::string> devices_;  // the lowest layers under the target
  int64_t monotonic_ns_ = 0;
  double busy_seconds_ = 0;
  double own_seconds_ = 0;
  uint64_t device_bytes_ = 0;
};

}  // namespace fleetmark::agent
