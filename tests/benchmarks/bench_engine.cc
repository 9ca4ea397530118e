// One engine job on one file, as one line: for pairing with fio.
//
//   bench_engine <file> <engine> [name=value ...]
//     bs=4096 depth=32 threads=1 seconds=2 ramp=0.5 rw=read|write|mix pattern=random|sequential direct=1 size=0
//
// Prints: engine=io_uring iops=… cpu_ns_per_io=… host_cpu_ns_per_io=… p50_us=… p99_us=… details=…
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "agent/engine/data_pool.h"
#include "agent/engine/io_engine.h"

namespace fleetmark::agent {
namespace {

double ProcessCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// All CPUs, without idle and iowait.
double HostBusySeconds() {
  FILE* file = std::fopen("/proc/stat", "re");
  if (file == nullptr) return 0;
  long long user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
  const int read = std::fscanf(file, "cpu %lld %lld %lld %lld %lld %lld %lld", &user, &nice, &system, &idle, &iowait,
                               &irq, &softirq);
  std::fclose(file);
  if (read != 7) return 0;
  return static_cast<double>(user + nice + system + irq + softirq) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

int Main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_engine <file> io_uring|threads|sync [name=value ...]\n");
    return 2;
  }
  std::map<std::string, std::string> options;
  for (int i = 3; i < argc; ++i) {
    const std::string option = argv[i];
    const size_t equals = option.find('=');
    if (equals == std::string::npos) {
      std::fprintf(stderr, "bench_engine: %s is not name=value\n", argv[i]);
      return 2;
    }
    options[option.substr(0, equals)] = option.substr(equals + 1);
  }
  const auto number = [&options](const char* name, double otherwise) {
    const auto found = options.find(name);
    double value = otherwise;
    if (found != options.end() && !absl::SimpleAtod(found->second, &value)) std::exit(2);
    return value;
  };
  const std::string rw = options.count("rw") != 0 ? options["rw"] : "read";
  const bool sequential = options["pattern"] == "sequential";

  IoJob job;
  int flags = (rw == "read" ? O_RDONLY : O_RDWR) | O_CLOEXEC;
  if (number("direct", 1) != 0) flags |= O_DIRECT;
  job.fd = open(argv[1], flags);
  if (job.fd < 0) {
    std::fprintf(stderr, "bench_engine: open %s: %s\n", argv[1], std::strerror(errno));
    return 1;
  }
  job.block_bytes = static_cast<uint32_t>(number("bs", 4096));
  job.depth = static_cast<unsigned>(number("depth", 32));
  job.threads = static_cast<unsigned>(number("threads", 1));
  job.run_seconds = number("seconds", 2);
  job.ramp_seconds = number("ramp", 0.5);
  job.read_fraction = rw == "read" ? 1 : rw == "write" ? 0 : 0.7;
  job.pattern = sequential ? AccessPattern::kSequential : AccessPattern::kRandom;
  auto size = static_cast<uint64_t>(number("size", 0));
  if (size == 0) size = static_cast<uint64_t>(lseek(job.fd, 0, SEEK_END));
  job.file_bytes = size / job.block_bytes * job.block_bytes;
  absl::StatusOr<DataPool> pool = DataPool::Make(1);
  if (!pool.ok()) return 1;
  job.pool = &*pool;

  double cpu = 0;
  double host = 0;
  JobHooks hooks;
  hooks.window_opens = [&] {
    cpu = -ProcessCpuSeconds();
    host = -HostBusySeconds();
  };
  hooks.window_closed = [&] {
    cpu += ProcessCpuSeconds();
    host += HostBusySeconds();
  };
  const std::unique_ptr<IoEngine> engine = MakeEngine(argv[2]);
  if (engine == nullptr) {
    std::fprintf(stderr, "bench_engine: there is no engine %s\n", argv[2]);
    return 2;
  }
  JobResult result;
  const absl::Status status = engine->Run(job, hooks, result);
  close(job.fd);
  if (!status.ok()) {
    std::fprintf(stderr, "bench_engine: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  LatencyHistogram latency;
  if (result.read_latency) latency.Merge(*result.read_latency);
  if (result.write_latency) latency.Merge(*result.write_latency);
  const auto operations = static_cast<double>(result.reads + result.writes);
  const uint64_t blocks = (result.hooked_read_bytes + result.hooked_written_bytes) / job.block_bytes;
  const auto hooked = static_cast<double>(blocks);
  const std::string line = absl::StrFormat(
      "engine=%s iops=%.0f cpu_ns_per_io=%.0f host_cpu_ns_per_io=%.0f p50_us=%.1f p99_us=%.1f details=\"%s\"\n",
      argv[2], operations / result.elapsed_seconds, cpu * 1e9 / hooked, host * 1e9 / hooked,
      latency.Percentile(50).seconds.value_or(0) * 1e6, latency.Percentile(99).seconds.value_or(0) * 1e6,
      result.details);
  std::fputs(line.c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace fleetmark::agent

int main(int argc, char** argv) { return fleetmark::agent::Main(argc, argv); }
