#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "collector/store/message_values.h"
#include "collector/store/postgres_host_store.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

// Followed by a WHERE on h. $1: with the inventory?
constexpr char kSelect[] =
    "SELECT h.id, h.name, h.reported_name, coalesce(c.expires_at > now(), false),"
    " extract(epoch FROM h.last_seen)::float8,"
    " (SELECT jsonb_object_agg(l.key, l.value) FROM fleetmark.host_label l WHERE l.host_id = h.id),"
    " h.agent_version, a.activity, h.refuses_tasks_because, CASE WHEN $1::boolean THEN h.inventory END,"
    " h.clock_offset_seconds, h.operating_system, h.processor_model, h.usable_cpus, h.memory_bytes"
    " FROM fleetmark.host h LEFT JOIN fleetmark.claim c ON c.host_id = h.id"
    " LEFT JOIN LATERAL (SELECT 'run ' || t.run_id || ': ' || t.workload AS activity FROM fleetmark.task t"
    "  WHERE t.host_id = h.id AND t.state IN ('assigned', 'running') ORDER BY t.run_id, t.position LIMIT 1) a ON true"
    " WHERE h.removed_at IS NULL";

v1::Host ReadHost(const Row& row) {
  v1::Host host;
  host.set_id(row.Text(0));
  host.set_name(row.Text(1));
  host.set_reported_name(row.Text(2));
  host.set_connected(row.Bool(3));
  if (const auto seen = row.MaybeDouble(4)) host.set_last_seen_unix_seconds(*seen);
  if (!row.IsNull(5)) {
    for (const auto& [key, value] : ParametersFromJson(row.View(5))) (*host.mutable_labels())[key] = value.text();
  }
  host.set_agent_version(row.Text(6));
  if (!host.connected()) {
    host.set_activity(
        host.has_last_seen_unix_seconds()
            ? absl::StrCat("unreachable since ",
                           absl::FormatTime("%Y-%m-%d %H:%M:%SZ",
                                            absl::FromUnixSeconds(static_cast<int64_t>(host.last_seen_unix_seconds())),
                                            absl::UTCTimeZone()))
            : "never connected");
  } else {
    host.set_activity(row.IsNull(7) ? "idle" : row.Text(7));
  }
  host.set_refuses_tasks_because(row.Text(8));
  if (!row.IsNull(9)) host.mutable_inventory()->ParseFromString(row.BytesAt(9));
  if (const auto offset = row.MaybeDouble(10)) host.set_clock_offset_seconds(*offset);
  host.set_operating_system(row.Text(11));
  host.set_processor_model(row.Text(12));
  if (const auto cpus = row.MaybeDouble(13)) host.set_usable_cpus(*cpus);
  if (const auto memory = row.MaybeDouble(14)) host.set_memory_bytes(*memory);
  return host;
}

absl::Status NoSuchHost(Transaction& transaction, const std::string& name_or_id) {
  std::vector<std::string> names;
  for (const Row row : transaction.Exec("SELECT name FROM fleetmark.host WHERE removed_at IS NULL ORDER BY name")) {
    names.push_back(row.Text(0));
  }
  const std::string nearest = NearestMatch(name_or_id, names);
  return absl::NotFoundError(absl::StrCat("no host '", EscapeForTerminal(name_or_id), "'",
                                          !nearest.empty() ? absl::StrCat("; did you mean '", nearest, "'?")
                                          : names.empty()  ? "; no host has joined yet (fleetmark hosts invite)"
                                                           : "; 'fleetmark hosts' lists them"));
}

bool CanBeIdPrefix(const std::string& text) {
  return text.size() >= 4 && text.find_first_not_of("0123456789abcdefABCDEF-") == std::string::npos;
}

}  // namespace

absl::StatusOr<std::vector<v1::Host>> PostgresHostStore::ListHosts(const std::map<std::string, std::string>& where,
                                                                   bool with_inventory) {
  return database_.Query<std::vector<v1::Host>>(
      "list hosts", [&](Transaction& transaction) -> absl::StatusOr<std::vector<v1::Host>> {
        std::string statement = kSelect;
        Args args(with_inventory);
        for (const auto& [key, value] : where) {
          absl::StrAppend(&statement,
                          " AND EXISTS (SELECT 1 FROM fleetmark.host_label w WHERE w.host_id = h.id AND w.key = $",
                          args.size() + 1, " AND w.value = $", args.size() + 2, ")");
          args.Add(key).Add(value);
        }
        std::vector<v1::Host> hosts;
        for (const Row row : transaction.Exec(statement + " ORDER BY h.name", args)) hosts.push_back(ReadHost(row));
        return hosts;
      });
}

absl::StatusOr<v1::Host> PostgresHostStore::FindHost(const std::string& name_or_id) {
  return database_.Query<v1::Host>(
      absl::StrCat("find host '", EscapeForTerminal(name_or_id), "'"),
      [&](Transaction& transaction) -> absl::StatusOr<v1::Host> {
        const Rows named = transaction.Exec(absl::StrCat(kSelect, " AND h.name = $2"), Args(true, name_or_id));
        if (!named.empty()) return ReadHost(named[0]);
        if (!CanBeIdPrefix(name_or_id)) return NoSuchHost(transaction, name_or_id);
        const Rows found =
            transaction.Exec(absl::StrCat(kSelect, " AND h.id::text LIKE lower($2) || '%' ORDER BY h.name LIMIT 4"),
                             Args(true, name_or_id));
        if (found.empty()) return NoSuchHost(transaction, name_or_id);
        if (found.size() == 1) return ReadHost(found[0]);
        std::vector<std::string> several;
        for (const Row row : found) several.push_back(absl::StrCat(row.Text(1), " (", row.Text(0), ")"));
        return absl::InvalidArgumentError(absl::StrCat("several hosts have an id that begins with '", name_or_id,
                                                       "': ", absl::StrJoin(several, ", "), "; give more of it"));
      });
}

absl::StatusOr<std::vector<v1::WorkloadDescriptor>> PostgresHostStore::HostWorkloads(const HostId& host) {
  return database_.Query<std::vector<v1::WorkloadDescriptor>>(
      "look up what the host can measure",
      [&](Transaction& transaction) -> absl::StatusOr<std::vector<v1::WorkloadDescriptor>> {
        const Rows rows = transaction.Exec(
            "SELECT s.workloads FROM fleetmark.host h LEFT JOIN fleetmark.capability_set s ON s.id = "
            "h.capability_set_id"
            " WHERE h.id = $1",
            Args(host));
        if (rows.empty()) return absl::NotFoundError(absl::StrCat("no host with id ", host));
        v1::Hello hello;
        hello.ParseFromString(rows[0].BytesOrEmpty(0));
        return std::vector<v1::WorkloadDescriptor>(hello.workloads().begin(), hello.workloads().end());
      });
}

absl::StatusOr<std::vector<v1::OfferedWorkload>> PostgresHostStore::OfferedWorkloads() {
  return database_.Query<std::vector<v1::OfferedWorkload>>(
      "look up what the fleet can measure",
      [&](Transaction& transaction) -> absl::StatusOr<std::vector<v1::OfferedWorkload>> {
        // Most hosts offer the same: each set is read once, whatever the size of the fleet.
        std::map<int64_t, v1::Hello> sets;
        for (const Row row : transaction.Exec(
                 "SELECT s.id, s.workloads FROM fleetmark.capability_set s WHERE EXISTS"
                 " (SELECT FROM fleetmark.host h WHERE h.capability_set_id = s.id AND h.removed_at IS NULL)")) {
          sets[row.Int64(0)].ParseFromString(row.BytesAt(1));
        }
        std::map<std::pair<std::string, uint32_t>, v1::OfferedWorkload> offered;
        for (const Row row :
             transaction.Exec("SELECT h.name, h.capability_set_id FROM fleetmark.host h"
                              " WHERE h.removed_at IS NULL AND h.capability_set_id IS NOT NULL ORDER BY h.name")) {
          for (const v1::WorkloadDescriptor& workload : sets[row.Int64(1)].workloads()) {
            v1::OfferedWorkload& entry = offered[{workload.name(), workload.version()}];
            if (entry.hosts_size() == 0) *entry.mutable_workload() = workload;
            entry.add_hosts(row.Text(0));
          }
        }
        std::vector<v1::OfferedWorkload> all;
        for (auto& [key, entry] : offered) all.push_back(std::move(entry));
        return all;
      });
}

absl::StatusOr<bool> PostgresHostStore::IsRemoved(const HostId& host) {
  return database_.Query<bool>("look up a host", [&](Transaction& transaction) -> absl::StatusOr<bool> {
    const Rows rows = transaction.Exec("SELECT removed_at IS NOT NULL FROM fleetmark.host WHERE id = $1", Args(host));
    if (rows.empty()) return absl::NotFoundError(absl::StrCat("no host with id ", host));
    return rows[0].Bool(0);
  });
}

}  // namespace fleetmark::collector
