// Processes of the programs under test: started with a complete environment, in namespaces of their own where asked,
// ended by pid only. Not thread-safe; start processes from the test's thread, since they are told to end with it.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace fleetmark::test {

struct Launch {
  std::vector<std::string> arguments;              // [0] is a path
  std::map<std::string, std::string> environment;  // the whole of it
  std::string log;                                 // stdout and stderr are appended; empty: kept for output(), errors()
  std::string network;                             // a named network namespace; empty: this process's
  std::string host_name;                           // of a UTS namespace of its own; empty: this process's
  bool own_locks = false;                          // a /run/lock of its own, as another machine has (needs root)
  std::map<std::string, std::string> binds;        // file or directory -> what lies over it, in a mount namespace
  std::optional<mode_t> umask;
  std::string directory;  // working directory; empty: /
};

class Process {
 public:
  // Aborts if it cannot be started at all; a program that is not there ends with code 127.
  explicit Process(const Launch& launch);
  // Kills it if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void Send(int signal);

  // Exit code, or 128 + signal; nullopt: it still runs after `timeout`. Reads its output meanwhile.
  std::optional<int> Wait(absl::Duration timeout);
  // As above; then SIGKILL.
  int WaitOrKill(absl::Duration timeout);

  // What it has written so far, if not to a log.
  const std::string& output();
  const std::string& errors();
  // Closes the reading end of its standard output, as `head -1` does.
  void CloseOutput();

 private:
  void Drain();
  void Reap(bool block);

  pid_t pid_ = -1;
  int out_fd_ = -1, err_fd_ = -1;
  std::string output_, errors_;
  std::optional<int> exit_code_;
};

struct Finished {
  int exit_code = -1;  // 128 + signal; 137 also where it had to be killed after the time-out
  std::string output, errors;
};
Finished RunToEnd(const Launch& launch, absl::Duration timeout = absl::Minutes(2));

// Polls; true once `condition` holds, false after `timeout`.
bool WaitUntil(const std::function<bool()>& condition, absl::Duration timeout = absl::Minutes(1),
               absl::Duration every = absl::Milliseconds(20));

// Alive: exists and is not a zombie.
bool Alive(pid_t pid);
std::string CommandLineOf(pid_t pid);
std::vector<pid_t> LiveChildren(pid_t pid);
// Orphans of our processes become our own children from now on, so that LiveDescendants() finds them.
void AdoptOrphans();
// Every live process below this one, less those in `known` and what is below them.
std::vector<pid_t> LiveDescendants(const std::vector<pid_t>& known = {});

std::string ReadWholeFile(const std::string& path);  // "" if it cannot be read

}  // namespace fleetmark::test
