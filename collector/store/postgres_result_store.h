// ResultStore over PostgreSQL. Stateless but for the database: thread-safe. record_store.cc takes records in,
// record_rows.cc makes rows of them, record_apply.cc carries what they say over into tasks and runs, result_query.cc
// reads.
#pragma once

#include "collector/store/database.h"
#include "collector/store/result_store.h"

namespace fleetmark::collector {

class PostgresResultStore : public ResultStore {
 public:
  explicit PostgresResultStore(Database& database) : database_(database) {}

  absl::StatusOr<StoredRecords> StoreRecords(const HostId& host, const std::vector<v1::Record>& records) override;
  absl::StatusOr<ResultSet> Query(const ResultQuery& query) override;

 private:
  Database& database_;
};

}  // namespace fleetmark::collector
