// HostStore over PostgreSQL. Stateless but for the database: thread-safe.
#pragma once

#include "collector/store/database.h"
#include "collector/store/host_store.h"

namespace fleetmark::collector {

class PostgresHostStore : public HostStore {
 public:
  explicit PostgresHostStore(Database& database) : database_(database) {}

  absl::StatusOr<std::vector<v1::Host>> ListHosts(const std::map<std::string, std::string>& where,
                                                  bool with_inventory) override;
  absl::StatusOr<v1::Host> FindHost(const std::string& name_or_id) override;
  absl::StatusOr<std::vector<v1::WorkloadDescriptor>> HostWorkloads(const HostId& host) override;
  absl::StatusOr<std::vector<v1::OfferedWorkload>> OfferedWorkloads() override;
  absl::Status SetLabels(const HostId& host, const std::map<std::string, std::string>& set,
                         const std::vector<std::string>& remove, const std::string& who) override;
  absl::Status RenameHost(const HostId& host, const std::string& new_name, const std::string& who) override;
  absl::Status RemoveHost(const HostId& host, const std::string& who) override;
  absl::StatusOr<bool> IsRemoved(const HostId& host) override;
  absl::StatusOr<std::string> TakeClaim(const HostId& host, const Claimant& claimant) override;
  absl::StatusOr<std::vector<HostId>> RenewClaims(const std::string& collector_id,
                                                  const std::vector<HostId>& hosts) override;
  absl::Status ReleaseClaim(const HostId& host, const Claimant& claimant) override;
  absl::Status RecordHello(const HostId& host, const v1::Hello& hello, double clock_offset_seconds) override;
  absl::Status RecordInventory(const HostId& host, const v1::Inventory& inventory) override;
  absl::Status RecordAgentStatus(const HostId& host, const v1::AgentStatus& status) override;

 private:
  Database& database_;
};

}  // namespace fleetmark::collector
