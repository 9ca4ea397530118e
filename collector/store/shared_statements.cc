#include "collector/store/shared_statements.h"

#include "collector/store/message_values.h"

namespace fleetmark::collector {

void Notify(Transaction& transaction, const char* channel, const std::string& id) {
  transaction.Exec("SELECT pg_notify($1, $2)", Args(channel, id));
}

void WriteAudit(Transaction& transaction, const std::string& who, const std::string& what, const std::string& detail) {
  transaction.Exec("INSERT INTO fleetmark.audit (who, what, detail) VALUES ($1, $2, $3)", Args(who, what, detail));
}

v1::Inventory WithoutVolatileFacts(const v1::Inventory& inventory) {
  v1::Inventory stable = inventory;
  stable.clear_taken_at_unix_seconds();
  stable.mutable_memory()->clear_available_bytes();
  for (v1::Target& target : *stable.mutable_targets()) {
    target.clear_free_bytes();
    target.clear_problem();
  }
  return stable;
}

int64_t EnsureSnapshot(Transaction& transaction, const HostId& host, const v1::Inventory& inventory) {
  const std::string hash = Sha256(SerializeStable(WithoutVolatileFacts(inventory)));
  // Looked up before it is inserted: a conflict would use up an identity each time.
  constexpr char kFind[] = "SELECT id FROM fleetmark.snapshot WHERE host_id = $1 AND sha256 = $2";
  const Rows found = transaction.Exec(kFind, Args(host, Bytes{hash}));
  if (!found.empty()) return found[0].Int64(0);
  const Rows made = transaction.Exec(
      "INSERT INTO fleetmark.snapshot (host_id, sha256, inventory) VALUES ($1, $2, $3)"
      " ON CONFLICT (host_id, sha256) DO NOTHING RETURNING id",
      Args(host, Bytes{hash}, Bytes{SerializeStable(inventory)}));
  if (!made.empty()) return made[0].Int64(0);
  return transaction.Exec(kFind, Args(host, Bytes{hash}))[0].Int64(0);
}

void StoreInventory(Transaction& transaction, const HostId& host, const v1::Inventory& inventory) {
  std::optional<double> memory;
  if (inventory.memory().has_limit_bytes()) memory = inventory.memory().limit_bytes();
  if (inventory.memory().has_usable_bytes() && (!memory.has_value() || inventory.memory().usable_bytes() < *memory)) {
    memory = inventory.memory().usable_bytes();
  }
  std::optional<double> cpus;
  if (inventory.processor().has_usable_cpus()) cpus = inventory.processor().usable_cpus();
  transaction.Exec(
      "UPDATE fleetmark.host SET inventory = $2, operating_system = $3, processor_model = $4, usable_cpus = $5,"
      " memory_bytes = $6 WHERE id = $1",
      Args(host, Bytes{SerializeStable(inventory)}, inventory.os().name(), inventory.processor().model(), cpus,
           memory));
  EnsureSnapshot(transaction, host, inventory);
}

}  // namespace fleetmark::collector
