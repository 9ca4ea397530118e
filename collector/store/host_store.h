// Hosts, their labels, and which collector drives each just now (the claim).
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/store/types.h"

namespace fleetmark::collector {

struct Claimant {
  std::string collector_id;
  std::string session_id;  // of the agent's process
  std::string boot_id;     // of its machine
};

class HostStore {
 public:
  virtual ~HostStore() = default;

  // `where`: labels that must be equal. Removed hosts are not listed. Ordered by name.
  virtual absl::StatusOr<std::vector<v1::Host>> ListHosts(const std::map<std::string, std::string>& where,
                                                          bool with_inventory) = 0;
  // By name, id, or a prefix of the id of at least 4 characters. NOT_FOUND names the nearest host name;
  // INVALID_ARGUMENT if several match. Includes the inventory.
  virtual absl::StatusOr<v1::Host> FindHost(const std::string& name_or_id) = 0;
  // The newest capabilities of a host: what its Hello said.
  virtual absl::StatusOr<std::vector<v1::WorkloadDescriptor>> HostWorkloads(const HostId& host) = 0;

  // The same for the whole fleet: an entry per workload and version, with the hosts that offer it. Hosts and entries
  // are in order of their names.
  virtual absl::StatusOr<std::vector<v1::OfferedWorkload>> OfferedWorkloads() = 0;

  virtual absl::Status SetLabels(const HostId& host, const std::map<std::string, std::string>& set,
                                 const std::vector<std::string>& remove, const std::string& who) = 0;
  virtual absl::Status RenameHost(const HostId& host, const std::string& new_name, const std::string& who) = 0;
  // Marks it removed and its certificates revoked; results stay. NOTIFY host.
  virtual absl::Status RemoveHost(const HostId& host, const std::string& who) = 0;
  virtual absl::StatusOr<bool> IsRemoved(const HostId& host) = 0;

  // Takes the claim for 30 s. Granted when nobody holds it, when it has expired, or when the holder is the same agent:
  // equal session_id, or equal boot_id (the agent was restarted: its state directory's lock rules out a twin).
  // Else ALREADY_EXISTS naming the holder. Returns the fleet's name of the host.
  virtual absl::StatusOr<std::string> TakeClaim(const HostId& host, const Claimant& claimant) = 0;
  // Renews those of `hosts` that this collector still holds and stamps last_seen; returns the ones it has lost. Without
  // a synchronous commit. Removed hosts count as lost.
  virtual absl::StatusOr<std::vector<HostId>> RenewClaims(const std::string& collector_id,
                                                          const std::vector<HostId>& hosts) = 0;
  virtual absl::Status ReleaseClaim(const HostId& host, const Claimant& claimant) = 0;

  // What the Hello said: reported name, capabilities, inventory (a new snapshot row only if it differs), status,
  // clock offset of the session (not finite: unknown).
  virtual absl::Status RecordHello(const HostId& host, const v1::Hello& hello, double clock_offset_seconds) = 0;
  virtual absl::Status RecordInventory(const HostId& host, const v1::Inventory& inventory) = 0;
  virtual absl::Status RecordAgentStatus(const HostId& host, const v1::AgentStatus& status) = 0;
};

}  // namespace fleetmark::collector
