#include "collector/service/present/present.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/units/format.h"

namespace fleetmark::collector {

void DescribeHost(v1::Host& host) {
  if (!host.activity().empty()) return;
  if (host.connected()) {
    host.set_activity("idle");
  } else if (host.has_last_seen_unix_seconds() && host.last_seen_unix_seconds() > 0) {
    const absl::Time seen = absl::UnixEpoch() + absl::Seconds(host.last_seen_unix_seconds());
    host.set_activity(absl::StrCat("unreachable since ", FormatTimestampUtc(seen)));
  } else {
    host.set_activity("never connected");
  }
}

void DescribeRun(v1::Run& run) {
  for (v1::Task& task : *run.mutable_tasks()) {
    if (task.host_connected() || !task.reason().empty()) continue;
    switch (task.state()) {
      case v1::TASK_STATE_QUEUED:
        task.set_reason("waits: its host is not connected");
        break;
      case v1::TASK_STATE_ASSIGNED:
      case v1::TASK_STATE_RUNNING:
        task.set_reason("its host is not connected; the task goes on there, its results come when it is back");
        break;
      default:
        break;
    }
  }
}

}  // namespace fleetmark::collector
