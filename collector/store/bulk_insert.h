// Many rows in few statements: INSERT ... VALUES (...), (...), flushed by rows and by size. One thread; inside one
// transaction.
#pragma once

#include <string>

#include "collector/store/connection.h"

namespace fleetmark::collector {

class BulkInsert {
 public:
  // `into`: "fleetmark.task (run_id, position)". `suffix`: "ON CONFLICT DO NOTHING".
  BulkInsert(Transaction& transaction, std::string into, std::string suffix = "")
      : transaction_(transaction), into_(std::move(into)), suffix_(std::move(suffix)) {}

  void Add(const Args& row);
  // REQUIRED at the end: what was added since the last flush is not in the table before.
  void Flush();

 private:
  Transaction& transaction_;
  const std::string into_;
  const std::string suffix_;
  std::string values_;
  Args args_;
  size_t rows_ = 0;
};

// A random (version 4) UUID in its 36-character form.
std::string NewUuid();

}  // namespace fleetmark::collector
