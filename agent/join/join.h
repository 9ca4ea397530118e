// An agent's membership of a fleet: `join`, `reset-id`, and where the identity lies. Plain functions for the agent's
// main and its connection; nothing here runs in the background.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/pki/tls_files.h"

namespace fleetmark::agent {

// <state>/identity/{ca.pem,agent.pem,agent.key}. The host's UUID is in the certificate (IdentityOfCertificate).
TlsFiles IdentityFiles(const std::string& state_directory);

inline constexpr const char* kAgentConfigFile = "agent.textproto";  // in the configuration directory

struct JoinOptions {
  std::string line;
  std::string state_directory;
  std::string config_directory;
  std::string target_path;  // of the default target, an existing directory on a disk; empty: <state>/target
};

struct Joined {
  std::string host_id;
  std::string host_name;  // the fleet's name for this machine
  std::vector<std::string> collectors;
  std::string config_path;
  std::string target_path;
  bool config_kept = false;  // there was a configuration: only its collectors were set anew
};

// Enrols this machine and writes <config>/agent.textproto with one default target and the collectors. A configuration
// that is there keeps its targets and ceilings. Errors as EnrollWithLine; INVALID_ARGUMENT for a target that cannot be
// measured. After a failure all is as before.
absl::StatusOr<Joined> JoinFleet(const JoinOptions& options);

// What to print after a join: where the configuration is, the target it allows and how to allow more.
std::string DescribeJoin(const Joined& joined);

// Forgets identity and spool of this machine, for a copy of an image that was enrolled (the original keeps them): the
// next `join` makes a new host. FAILED_PRECONDITION while an agent uses the directory; NOT_FOUND without an identity.
absl::Status ResetIdentity(const std::string& state_directory);

}  // namespace fleetmark::agent
