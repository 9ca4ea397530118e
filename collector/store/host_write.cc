#include "absl/strings/str_cat.h"
#include "collector/store/message_values.h"
#include "collector/store/postgres_host_store.h"
#include "collector/store/run_state.h"
#include "collector/store/shared_statements.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

// The name of a host that has not been removed; its row is locked.
absl::StatusOr<std::string> LockHost(Transaction& transaction, const HostId& host) {
  const Rows rows = transaction.Exec(
      "SELECT name FROM fleetmark.host WHERE id = $1 AND removed_at IS NULL FOR NO KEY UPDATE", Args(host));
  if (rows.empty()) return absl::NotFoundError(absl::StrCat("no host with id ", host, " (or it was removed)"));
  return rows[0].Text(0);
}

// Nobody will measure them any more: their runs need not wait until they give up.
void LoseWaitingTasks(Transaction& transaction, const HostId& host) {
  std::vector<TaskId> waiting;
  for (const Row row : transaction.Exec("SELECT id FROM fleetmark.task WHERE host_id = $1"
                                        " AND state IN ('queued', 'assigned', 'running') ORDER BY id",
                                        Args(host))) {
    waiting.push_back(row.Int64(0));
  }
  const std::vector<RunId> runs = LockRunsOf(transaction, waiting);
  for (const TaskId task : waiting) {
    SetTaskState(transaction, task, v1::TASK_STATE_LOST, "the host was removed from the fleet");
  }
  for (const RunId run : runs) RefreshRun(transaction, run);
}

}  // namespace

absl::Status PostgresHostStore::SetLabels(const HostId& host, const std::map<std::string, std::string>& set,
                                          const std::vector<std::string>& remove, const std::string& who) {
  return database_.Transact("label the host", [&](Transaction& transaction) -> absl::Status {
    const absl::StatusOr<std::string> name = LockHost(transaction, host);
    if (!name.ok()) return name.status();
    transaction.Exec("DELETE FROM fleetmark.host_label WHERE host_id = $1 AND key = ANY($2::text[])",
                     Args(host, remove));
    std::string changes;
    for (const auto& [key, value] : set) {
      transaction.Exec(
          "INSERT INTO fleetmark.host_label (host_id, key, value) VALUES ($1, $2, $3)"
          " ON CONFLICT (host_id, key) DO UPDATE SET value = excluded.value",
          Args(host, key, value));
      absl::StrAppend(&changes, " ", key, "=", value);
    }
    for (const std::string& key : remove) absl::StrAppend(&changes, " -", key);
    WriteAudit(transaction, who, "label host", *name + changes);
    Notify(transaction, kHostChannel, host);
    return absl::OkStatus();
  });
}

absl::Status PostgresHostStore::RenameHost(const HostId& host, const std::string& new_name, const std::string& who) {
  if (new_name.empty() || new_name.size() > 255 || EscapeForTerminal(new_name) != new_name) {
    return absl::InvalidArgumentError(absl::StrCat("rename the host to '", EscapeForTerminal(new_name),
                                                   "': a name has 1 to 255 bytes and no control characters"));
  }
  return database_.Transact("rename the host", [&](Transaction& transaction) -> absl::Status {
    const absl::StatusOr<std::string> name = LockHost(transaction, host);
    if (!name.ok()) return name.status();
    if (*name == new_name) return absl::OkStatus();
    const Rows taken =
        transaction.Exec("SELECT id FROM fleetmark.host WHERE name = $1 AND removed_at IS NULL", Args(new_name));
    if (!taken.empty()) {
      return absl::AlreadyExistsError(absl::StrCat("rename host '", *name, "': another host is named '", new_name,
                                                   "' (", taken[0].Text(0), "); choose another name"));
    }
    transaction.Exec("UPDATE fleetmark.host SET name = $2 WHERE id = $1", Args(host, new_name));
    WriteAudit(transaction, who, "rename host", absl::StrCat(*name, " to ", new_name));
    Notify(transaction, kHostChannel, host);
    return absl::OkStatus();
  });
}

absl::Status PostgresHostStore::RemoveHost(const HostId& host, const std::string& who) {
  return database_.Transact("remove the host", [&](Transaction& transaction) -> absl::Status {
    const Rows rows = transaction.Exec(
        "SELECT name, removed_at IS NOT NULL FROM fleetmark.host WHERE id = $1 FOR NO KEY UPDATE", Args(host));
    if (rows.empty()) return absl::NotFoundError(absl::StrCat("no host with id ", host));
    if (rows[0].Bool(1)) return absl::OkStatus();
    transaction.Exec("UPDATE fleetmark.host SET removed_at = now() WHERE id = $1", Args(host));
    transaction.Exec(
        "UPDATE fleetmark.certificate SET revoked_at = now(), revoked_by = $2 WHERE subject = $1 AND revoked_at IS "
        "NULL",
        Args(absl::StrCat("urn:fleetmark:host:", host), who));
    transaction.Exec("DELETE FROM fleetmark.claim WHERE host_id = $1", Args(host));
    LoseWaitingTasks(transaction, host);
    WriteAudit(transaction, who, "remove host", absl::StrCat(rows[0].Text(0), " ", host));
    Notify(transaction, kHostChannel, host);
    return absl::OkStatus();
  });
}

absl::Status PostgresHostStore::RecordHello(const HostId& host, const v1::Hello& hello, double clock_offset_seconds) {
  v1::Hello clean = hello;
  CleanMessage(clean);
  v1::Hello capabilities;
  *capabilities.mutable_workloads() = clean.workloads();
  const std::string workloads = SerializeStable(capabilities);
  const std::string hash = Sha256(workloads);
  const bool offset_known = clock_offset_seconds > -1e12 && clock_offset_seconds < 1e12;
  return database_.Transact("record what the agent said of itself", [&](Transaction& transaction) -> absl::Status {
    constexpr char kFind[] = "SELECT id FROM fleetmark.capability_set WHERE sha256 = $1";
    Rows set = transaction.Exec(kFind, Args(Bytes{hash}));
    if (set.empty()) {
      transaction.Exec(
          "INSERT INTO fleetmark.capability_set (sha256, workloads) VALUES ($1, $2) ON CONFLICT (sha256) DO NOTHING",
          Args(Bytes{hash}, Bytes{workloads}));
      set = transaction.Exec(kFind, Args(Bytes{hash}));
    }
    const Rows updated = transaction.Exec(
        "UPDATE fleetmark.host SET reported_name = $2, agent_version = $3, boot_id = $4, capability_set_id = $5,"
        " clock_offset_seconds = $6, refuses_tasks_because = $7, status = $8, last_seen = now()"
        " WHERE id = $1 RETURNING id",
        Args(host, clean.host_name(), clean.agent_version(), clean.boot_id(), set[0].Int64(0),
             offset_known ? std::optional<double>(clock_offset_seconds) : std::nullopt,
             clean.status().refuses_tasks_because(), Bytes{SerializeStable(clean.status())}));
    if (updated.empty()) return absl::NotFoundError(absl::StrCat("no host with id ", host));
    if (clean.has_inventory()) StoreInventory(transaction, host, clean.inventory());
    Notify(transaction, kHostChannel, host);
    return absl::OkStatus();
  });
}

absl::Status PostgresHostStore::RecordInventory(const HostId& host, const v1::Inventory& inventory) {
  v1::Inventory clean = inventory;
  CleanMessage(clean);
  return database_.Transact("record the inventory", [&](Transaction& transaction) -> absl::Status {
    const absl::StatusOr<std::string> name = LockHost(transaction, host);
    if (!name.ok()) return name.status();
    StoreInventory(transaction, host, clean);
    return absl::OkStatus();
  });
}

absl::Status PostgresHostStore::RecordAgentStatus(const HostId& host, const v1::AgentStatus& status) {
  v1::AgentStatus clean = status;
  CleanMessage(clean);
  return database_.Transact("record the agent's status", [&](Transaction& transaction) -> absl::Status {
    const Rows updated =
        transaction.Exec("UPDATE fleetmark.host SET refuses_tasks_because = $2, status = $3 WHERE id = $1 RETURNING id",
                         Args(host, clean.refuses_tasks_because(), Bytes{SerializeStable(clean)}));
    if (updated.empty()) return absl::NotFoundError(absl::StrCat("no host with id ", host));
    Notify(transaction, kHostChannel, host);
    return absl::OkStatus();
  });
}

}  // namespace fleetmark::collector
