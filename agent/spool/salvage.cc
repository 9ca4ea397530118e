#include "agent/spool/salvage.h"

#include <memory>

#include "absl/status/statusor.h"

namespace fleetmark::agent {
namespace {

// Copies the rows that `select` yields until the end or the first unreadable one. Returns how many were new.
int64_t CopyRows(Database& from, const char* select, Database& to, const char* insert, int integers, int blobs) {
  absl::StatusOr<Statement> source = from.Prepare(select);
  if (!source.ok()) return 0;
  int64_t copied = 0;
  while (true) {
    const absl::StatusOr<bool> row = source->Step();
    if (!row.ok() || !*row) return copied;
    absl::StatusOr<Statement> target = to.Prepare(insert);
    if (!target.ok()) return copied;
    for (int column = 0; column < integers; ++column) target->Bind(source->Integer(column));
    for (int column = 0; column < blobs; ++column) target->Bind(source->Bytes(integers + column));
    if (target->Run().ok()) ++copied;
  }
}

int64_t Count(Database& database, const char* select) {
  absl::StatusOr<Statement> statement = database.Prepare(select);
  if (!statement.ok()) return 0;
  const absl::StatusOr<bool> row = statement->Step();
  return row.ok() && *row ? statement->Integer(0) : 0;
}

}  // namespace

Salvaged Salvage(const std::string& damaged, Database& fresh) {
  const absl::StatusOr<std::unique_ptr<Database>> from = Database::Open(damaged);
  if (!from.ok()) return {};
  const char* insert_task =
      "INSERT OR IGNORE INTO task(arrival, task_id, attempt, state, highest, acknowledged, start) "
      "VALUES(?, ?, ?, ?, ?, ?, ?)";
  const char* insert_record =
      "INSERT OR IGNORE INTO record(position, task_id, attempt, sequence, checksum, body) VALUES(?, ?, ?, ?, ?, ?)";
  for (const char* select :
       {"SELECT arrival, task_id, attempt, state, highest, acknowledged, start FROM task ORDER BY arrival",
        "SELECT arrival, task_id, attempt, state, highest, acknowledged, start FROM task ORDER BY arrival DESC"}) {
    CopyRows(**from, select, fresh, insert_task, 6, 1);
  }
  for (const char* select :
       {"SELECT position, task_id, attempt, sequence, checksum, body FROM record ORDER BY position",
        "SELECT position, task_id, attempt, sequence, checksum, body FROM record ORDER BY position DESC"}) {
    CopyRows(**from, select, fresh, insert_record, 5, 1);
  }
  return {Count(fresh, "SELECT count(*) FROM task"), Count(fresh, "SELECT count(*) FROM record")};
}

int64_t Checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return static_cast<int64_t>(hash);
}

}  // namespace fleetmark::agent
