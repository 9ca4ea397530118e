// What can still be read of a damaged spool file. Pure of the running spool: works on two databases.
#pragma once

#include <cstdint>
#include <string>

#include "agent/spool/database.h"

namespace fleetmark::agent {

struct Salvaged {
  int64_t tasks = 0;
  int64_t records = 0;
};

// Copies every readable row of the file `damaged` into `fresh`, whose schema exists. Rows behind a damaged page are
// reached from the other end of the table. Never fails: an unreadable file gives nothing.
Salvaged Salvage(const std::string& damaged, Database& fresh);

// FNV-1a, 64 bits: what stands beside each record to tell a whole one from a torn one.
int64_t Checksum(std::string_view bytes);

}  // namespace fleetmark::agent
