// The numbered SQL files of collector/store/migrations, embedded at build time. Forward only; in order of their
// numbers.
#pragma once

#include <string>
#include <vector>

namespace fleetmark::collector {

struct Migration {
  int number = 0;
  std::string name;  // "0001_initial.sql"
  std::string sql;
};

const std::vector<Migration>& Migrations();

}  // namespace fleetmark::collector
