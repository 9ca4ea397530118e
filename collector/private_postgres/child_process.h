// Starting the server's programs: fork and exec, as an account, without leaking descriptors, signals or environment.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/private_postgres/account.h"

namespace fleetmark::collector {

struct ChildOptions {
  std::vector<std::string> arguments;  // the first is the program, with its whole path
  std::optional<Account> account;      // only as root: become this one
  int output_fd = -1;                  // becomes stdout and stderr; -1: /dev/null
  std::string working_directory = "/";
  int signal_when_parent_dies = 0;  // Linux: when the *thread* that starts it ends; 0: none
};

// The process, in a session of its own (a Ctrl-C on the terminal does not reach it). An error of exec, setuid and the
// like comes back as a status. The caller must wait for the process.
absl::StatusOr<pid_t> StartChild(const ChildOptions& options);

// How the process ended: "exited with code 1", "was killed by signal 9 (Killed)".
std::string DescribeExit(int wait_status);

// Waits up to `timeout`; the wait status, or nullopt if it still runs.
std::optional<int> WaitForChild(pid_t pid, absl::Duration timeout);

// Runs a program to its end, as this user, and returns its standard output.
absl::StatusOr<std::string> CaptureOutput(const std::vector<std::string>& arguments);

}  // namespace fleetmark::collector
