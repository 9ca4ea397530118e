// FakeHostStore: a HostStore in memory, with the real one's rules for claims (but no expiry). What tests of sessions do
// not need is UNIMPLEMENTED. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/store/host_store.h"
#include "tests/support/collector/store_calls.h"

namespace fleetmark::test {

class FakeHostStore : public collector::HostStore, public StoreCalls {
 public:
  using HostId = collector::HostId;
  using Claimant = collector::Claimant;

  // What a test sets and sees.
  struct Known {
    std::string name;
    bool removed = false;
    std::optional<Claimant> claim;
    std::optional<v1::Hello> hello;
    double clock_offset = 0;
    std::vector<v1::Inventory> inventories;
    std::vector<v1::AgentStatus> statuses;
  };
  void AddHost(const HostId& host, const std::string& name) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    hosts_[host].name = name;
  }
  void Remove(const HostId& host) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    hosts_[host].removed = true;
  }
  void SetClaim(const HostId& host, const std::optional<Claimant>& claim) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    hosts_[host].claim = claim;
  }
  Known host(const HostId& host) const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto found = hosts_.find(host);
    return found == hosts_.end() ? Known() : found->second;
  }

  absl::StatusOr<bool> IsRemoved(const HostId& host) override {
    if (const absl::Status status = Called("IsRemoved"); !status.ok()) return status;
    MutexLock lock(mutex_);
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) return absl::NotFoundError(absl::StrCat("no host with id ", host));
    return found->second.removed;
  }

  absl::StatusOr<std::string> TakeClaim(const HostId& host, const Claimant& claimant) override {
    if (const absl::Status status = Called("TakeClaim"); !status.ok()) return status;
    MutexLock lock(mutex_);
    Known& known = hosts_[host];
    const std::optional<Claimant>& holder = known.claim;
    if (holder && holder->session_id != claimant.session_id && holder->boot_id != claimant.boot_id) {
      return absl::AlreadyExistsError(absl::StrCat("host '", known.name, "' is connected to collector ",
                                                   holder->collector_id, " with session ", holder->session_id));
    }
    known.claim = claimant;
    return known.name;
  }

  absl::StatusOr<std::vector<HostId>> RenewClaims(const std::string& collector_id,
                                                  const std::vector<HostId>& hosts) override {
    if (const absl::Status status = Called("RenewClaims"); !status.ok()) return status;
    MutexLock lock(mutex_);
    std::vector<HostId> lost;
    for (const HostId& host : hosts) {
      const Known& known = hosts_[host];
      if (known.removed || !known.claim || known.claim->collector_id != collector_id) lost.push_back(host);
    }
    return lost;
  }

  absl::Status ReleaseClaim(const HostId& host, const Claimant& claimant) override {
    if (const absl::Status status = Called("ReleaseClaim"); !status.ok()) return status;
    MutexLock lock(mutex_);
    std::optional<Claimant>& holder = hosts_[host].claim;
    if (holder && holder->collector_id == claimant.collector_id && holder->session_id == claimant.session_id) {
      holder.reset();
    }
    return absl::OkStatus();
  }

  absl::Status RecordHello(const HostId& host, const v1::Hello& hello, double clock_offset_seconds) override {
    if (const absl::Status status = Called("RecordHello"); !status.ok()) return status;
    MutexLock lock(mutex_);
    hosts_[host].hello = hello;
    hosts_[host].clock_offset = clock_offset_seconds;
    return absl::OkStatus();
  }
  absl::Status RecordInventory(const HostId& host, const v1::Inventory& inventory) override {
    if (const absl::Status status = Called("RecordInventory"); !status.ok()) return status;
    MutexLock lock(mutex_);
    hosts_[host].inventories.push_back(inventory);
    return absl::OkStatus();
  }
  absl::Status RecordAgentStatus(const HostId& host, const v1::AgentStatus& agent_status) override {
    if (const absl::Status status = Called("RecordAgentStatus"); !status.ok()) return status;
    MutexLock lock(mutex_);
    hosts_[host].statuses.push_back(agent_status);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<v1::Host>> ListHosts(const std::map<std::string, std::string>&, bool) override {
    return NotHere();
  }
  absl::StatusOr<v1::Host> FindHost(const std::string&) override { return NotHere(); }
  absl::StatusOr<std::vector<v1::WorkloadDescriptor>> HostWorkloads(const HostId&) override { return NotHere(); }
  absl::StatusOr<std::vector<v1::OfferedWorkload>> OfferedWorkloads() override { return NotHere(); }
  absl::Status SetLabels(const HostId&, const std::map<std::string, std::string>&, const std::vector<std::string>&,
                         const std::string&) override {
    return NotHere();
  }
  absl::Status RenameHost(const HostId&, const std::string&, const std::string&) override { return NotHere(); }
  absl::Status RemoveHost(const HostId&, const std::string&) override { return NotHere(); }

 private:
  static absl::Status NotHere() { return absl::UnimplementedError("not in FakeHostStore"); }

  mutable Mutex mutex_;
  std::map<HostId, Known> hosts_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::test
