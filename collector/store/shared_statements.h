// Statements that several stores use inside their transactions.
#pragma once

#include <string>
#include <string_view>

#include "collector/store/connection.h"
#include "collector/store/types.h"

namespace fleetmark::collector {

// Channels of NOTIFY; the payload is an id and never more (notifications are hints, the rows are the truth).
inline constexpr char kRunChannel[] = "fleetmark_run";    // run id: a state of it or of its tasks changed
inline constexpr char kTaskChannel[] = "fleetmark_task";  // host id: look for something to do or to cancel
inline constexpr char kHostChannel[] = "fleetmark_host";  // host id: connected, gone, renamed, labelled, removed
inline constexpr char kProgressChannel[] = "fleetmark_progress";  // run id: its progress rows changed

void Notify(Transaction& transaction, const char* channel, const std::string& id);
void WriteAudit(Transaction& transaction, const std::string& who, const std::string& what, const std::string& detail);

// The row of this inventory, which is made if the host has none that differs only in the time and in free space.
int64_t EnsureSnapshot(Transaction& transaction, const HostId& host, const v1::Inventory& inventory);

// What EnsureSnapshot compares by: without what changes by itself.
v1::Inventory WithoutVolatileFacts(const v1::Inventory& inventory);

// Writes the inventory and the columns made from it into the host's row, and its snapshot.
void StoreInventory(Transaction& transaction, const HostId& host, const v1::Inventory& inventory);

}  // namespace fleetmark::collector
