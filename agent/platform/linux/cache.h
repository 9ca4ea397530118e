// The judgement on a claim about the last-level cache: a pure function, so that tests can claim anything.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/platform/machine.h"

namespace fleetmark::agent {

struct CacheClaim {
  uint64_t bytes = 0;         // of all last-level caches that the usable CPUs reach; 0: no claim
  bool from_sysfs = false;    // else sysconf
  unsigned sharing_cpus = 1;  // usable CPUs that reach them
  bool virtual_machine = false;
  uint64_t memory_bytes = 0;  // 0: not known
};

// A claim without a sysfs cache directory, or of a virtual machine, that exceeds 32 MiB per usable CPU or 1/32 of
// memory is the host's, and useless here (C-015): 64 MiB, "implausible". No claim: 64 MiB, "unknown".
LastLevelCache JudgeCacheClaim(const CacheClaim& claim);

}  // namespace fleetmark::agent
