// The right to be the one agent that measures on this machine just now (C-104): two agents with two state directories,
// of one user or of two, take turns. An advisory lock on a file that every user's agents find.
#pragma once

#include <optional>
#include <string>

#include "agent/worker/scratch.h"

namespace fleetmark::agent {

class HostLock {
 public:
  // "" for the place all agents look at.
  explicit HostLock(std::string directory = "");
  ~HostLock() { Release(); }
  HostLock(const HostLock&) = delete;
  HostLock& operator=(const HostLock&) = delete;

  // Takes it if it is free. False: another agent has it. Where no lock file can be made at all there is nobody to agree
  // with, and the answer is true.
  bool TryAcquire();
  // Frees it and removes the file.
  void Release();

 private:
  OwnedFd OpenFile();

  std::string directory_;
  std::string path_;
  OwnedFd file_;
};

}  // namespace fleetmark::agent
