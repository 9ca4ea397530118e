// The claim: which collector drives a host just now. Lent for 30 s at a time.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "collector/store/postgres_host_store.h"
#include "collector/store/shared_statements.h"

namespace fleetmark::collector {

absl::StatusOr<std::string> PostgresHostStore::TakeClaim(const HostId& host, const Claimant& claimant) {
  return database_.Query<std::string>("claim the host", [&](Transaction& transaction) -> absl::StatusOr<std::string> {
    const Rows rows = transaction.Exec(
        "SELECT name, removed_at IS NOT NULL FROM fleetmark.host WHERE id = $1 FOR NO KEY UPDATE", Args(host));
    if (rows.empty()) return absl::NotFoundError(absl::StrCat("no host with id ", host, " has joined this fleet"));
    const std::string name = rows[0].Text(0);
    if (rows[0].Bool(1)) {
      return absl::FailedPreconditionError(
          absl::StrCat("host '", name, "' (", host, ") was removed from the fleet; invite it again"));
    }
    const Rows held = transaction.Exec(
        "SELECT collector_id, session_id, boot_id, expires_at > now() FROM fleetmark.claim WHERE host_id = $1 FOR "
        "UPDATE",
        Args(host));
    if (!held.empty() && held[0].Bool(3) && held[0].Text(1) != claimant.session_id &&
        (claimant.boot_id.empty() || held[0].Text(2) != claimant.boot_id)) {
      return absl::AlreadyExistsError(
          absl::StrCat("the identity of host '", name, "' (", host, ") is in use: session ", held[0].Text(1),
                       " of boot ", held[0].Text(2), " is connected to collector ", held[0].Text(0), ", session ",
                       claimant.session_id, " of boot ", claimant.boot_id,
                       " asks for it too. A copied disk image? Give the copy an identity of its own (invite it)"));
    }
    transaction.Exec(
        "INSERT INTO fleetmark.claim (host_id, collector_id, session_id, boot_id, expires_at)"
        " VALUES ($1, $2, $3, $4, now() + interval '30 s') ON CONFLICT (host_id) DO UPDATE SET"
        " collector_id = excluded.collector_id, session_id = excluded.session_id, boot_id = excluded.boot_id,"
        " taken_at = now(), expires_at = excluded.expires_at",
        Args(host, claimant.collector_id, claimant.session_id, claimant.boot_id));
    transaction.Exec("UPDATE fleetmark.host SET last_seen = now() WHERE id = $1", Args(host));
    Notify(transaction, kHostChannel, host);
    return name;
  });
}

absl::StatusOr<std::vector<HostId>> PostgresHostStore::RenewClaims(const std::string& collector_id,
                                                                   const std::vector<HostId>& hosts) {
  return database_.Query<std::vector<HostId>>(
      "renew claims",
      [&](Transaction& transaction) -> absl::StatusOr<std::vector<HostId>> {
        // Locked as TakeClaim locks them: hosts before claims, and hosts by their ids.
        transaction.Exec("SELECT FROM fleetmark.host WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE",
                         Args(hosts));
        const Rows kept = transaction.Exec(
            "WITH kept AS (UPDATE fleetmark.claim c SET expires_at = now() + interval '30 s' FROM fleetmark.host h"
            " WHERE h.id = c.host_id AND h.removed_at IS NULL AND c.collector_id = $1 AND c.host_id = ANY($2::uuid[])"
            " RETURNING c.host_id)"
            " UPDATE fleetmark.host h SET last_seen = now() FROM kept WHERE h.id = kept.host_id RETURNING h.id::text",
            Args(collector_id, hosts));
        transaction.Exec("UPDATE fleetmark.collector SET last_seen = now() WHERE id = $1", Args(collector_id));
        std::set<std::string> ours;
        for (const Row row : kept) ours.insert(row.Text(0));
        std::vector<HostId> lost;
        for (const HostId& host : hosts) {
          if (!ours.contains(host)) lost.push_back(host);
        }
        return lost;
      },
      {.durable = false});
}

absl::Status PostgresHostStore::ReleaseClaim(const HostId& host, const Claimant& claimant) {
  return database_.Transact("release the claim", [&](Transaction& transaction) -> absl::Status {
    const Rows gone = transaction.Exec(
        "DELETE FROM fleetmark.claim WHERE host_id = $1 AND collector_id = $2 AND session_id = $3 RETURNING host_id",
        Args(host, claimant.collector_id, claimant.session_id));
    if (!gone.empty()) Notify(transaction, kHostChannel, host);
    return absl::OkStatus();
  });
}

}  // namespace fleetmark::collector
