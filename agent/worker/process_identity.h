// Which process it is, so that a process id that has been given to somebody else is not taken for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace fleetmark::agent {

struct ProcessIdentity {
  pid_t pid = 0;
  uint64_t start_ticks = 0;  // since boot; 0 where the system does not tell
  std::string boot_id;       // "" likewise
};

ProcessIdentity IdentityOf(pid_t pid);

// True if that very process exists and is not a zombie.
bool IsAlive(const ProcessIdentity& identity);

// The state letter of the process ('R', 'S', 'D', 'Z', ...), 0 if there is none or the system does not tell.
char ProcessState(pid_t pid);

}  // namespace fleetmark::agent
