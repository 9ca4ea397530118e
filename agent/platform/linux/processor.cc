#include <algorithm>
#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "agent/platform/linux/cpuinfo.h"
#include "agent/platform/linux/sysfs.h"
#include "agent/platform/linux/topology.h"
#include "agent/platform/machine.h"
#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

void Unread(std::vector<v1::UnreadFact>& unread, const char* fact, std::string reason) {
  v1::UnreadFact& entry = unread.emplace_back();
  entry.set_fact(fact);
  entry.set_reason(std::move(reason));
}

// The highest clock of any CPU that is online. Policies of CPUs that are off fail to read, and are left out (C-075).
std::optional<double> ClaimedMaximum(const std::string& root, const std::string& model) {
  std::optional<double> highest;
  const std::string directory = root + "/sys/devices/system/cpu";
  for (const int cpu : ParseCpuList(ReadText(directory + "/online").value_or(""))) {
    const auto khz = ReadUnsigned(directory + "/cpu" + std::to_string(cpu) + "/cpufreq/cpuinfo_max_freq");
    if (khz && *khz > 0) highest = std::max(highest.value_or(0), static_cast<double>(*khz) * 1e3);
  }
  if (highest) return highest;
  // "... CPU @ 2.30GHz" is the maker's claim as well.
  const size_t at = model.rfind("@ ");
  const size_t unit = model.find("GHz", at == std::string::npos ? 0 : at);
  if (at == std::string::npos || unit == std::string::npos) return std::nullopt;
  double ghz = 0;
  const std::string number(Trim(std::string_view(model).substr(at + 2, unit - at - 2)));
  if (!absl::SimpleAtod(number, &ghz) || !(ghz > 0)) return std::nullopt;
  return ghz * 1e9;
}

bool IsWorthNaming(const std::string& flag) {
  static constexpr std::array<std::string_view, 33> kNamed = {
      "sse2",     "ssse3",       "sse4_1",   "sse4_2", "popcnt",       "aes",   "pclmulqdq", "avx",      "f16c",
      "fma",      "bmi1",        "bmi2",     "avx2",   "sha_ni",       "vaes",  "avx512f",   "avx512bw", "avx512dq",
      "avx512vl", "avx512_vnni", "amx_tile", "gfni",   "constant_tsc", "asimd", "asimddp",   "atomics",  "crc32",
      "pmull",    "sha2",        "sve",      "sve2",   "neon",         "vsx"};
  return std::find(kNamed.begin(), kNamed.end(), flag) != kNamed.end();
}

}  // namespace

v1::Processor ReadProcessor(const std::string& root, std::vector<v1::UnreadFact>& unread) {
  v1::Processor processor;
  const std::optional<std::string> text = ReadText(root + "/proc/cpuinfo");
  if (!text) Unread(unread, "processor", root + "/proc/cpuinfo: cannot be read");
  const std::vector<CpuinfoEntry> entries = ParseCpuinfo(text.value_or(""));
  const Topology topology = ReadTopology(root, entries);

  std::string model = ProcessorName(entries);
  if (topology.fast_cores > 0) {
    model += " (" + std::to_string(topology.fast_cores) + "P + " + std::to_string(topology.slow_cores) + "E cores)";
  }
  if (!model.empty()) {
    processor.set_model(CleanUtf8(model));
  } else if (text) {
    Unread(unread, "processor.model", "/proc/cpuinfo: no model name and no known part number");
  }
  if (topology.present) processor.set_present_cpus(*topology.present);
  if (topology.online) processor.set_online_cpus(*topology.online);
  if (topology.cores) processor.set_cores(*topology.cores);
  if (!topology.cores_note.empty()) Unread(unread, "processor.cores", topology.cores_note);
  if (topology.sockets) processor.set_sockets(*topology.sockets);

  const UsableCpus usable = ReadUsableCpus(root);
  processor.set_usable_cpus(std::min(usable.quota, static_cast<double>(usable.cpus.size())));
  const LastLevelCache cache = ReadLastLevelCache(root);
  processor.set_last_level_cache_source(cache.source);
  if (cache.source == "sysfs" || cache.source == "sysconf") {
    processor.set_last_level_cache_bytes(static_cast<double>(cache.bytes));
  } else {
    Unread(unread, "processor.last_level_cache_bytes",
           (cache.source == "implausible" ? "what the machine claims is implausible" : "the machine claims none") +
               std::string("; workloads assume ") + std::to_string(cache.bytes >> 20) + " MiB");
  }
  if (!entries.empty()) {
    for (const std::string& flag : entries.front().flags) {
      if (IsWorthNaming(flag)) processor.add_features(CleanUtf8(flag));
    }
  }
  if (const std::optional<double> hertz = ClaimedMaximum(root, model)) processor.set_claimed_max_hz(*hertz);
  return processor;
}

}  // namespace fleetmark::agent
