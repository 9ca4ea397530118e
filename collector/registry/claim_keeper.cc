#include "collector/registry/claim_keeper.h"

#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/lifecycle/thread_name.h"
#include "common/log/log.h"

namespace fleetmark::collector {

ClaimKeeper::ClaimKeeper(HostStore& hosts, AgentRegistry& registry, std::string collector_id, absl::Duration interval)
    : hosts_(hosts), registry_(registry), collector_id_(std::move(collector_id)), interval_(interval) {}

ClaimKeeper::~ClaimKeeper() { assert(!thread_.joinable()); }

void ClaimKeeper::Start() {
  thread_ = std::thread([this] {
    SetThreadName("claims");
    bool failing = false;
    while (!stop_.WaitFor(interval_)) {
      const absl::Status status = RenewAll();
      // One line per outage, not one per round.
      if (!status.ok() && !failing)
        LogWarning("registry", absl::StrCat("renew claims: ", std::string(status.message())));
      failing = !status.ok();
    }
  });
}

void ClaimKeeper::Shutdown() {
  stop_.Request();
  if (thread_.joinable()) thread_.join();
}

absl::Status ClaimKeeper::RenewAll() {
  const std::vector<HostId> connected = registry_.Hosts();
  if (connected.empty()) return absl::OkStatus();
  const absl::StatusOr<std::vector<HostId>> lost = hosts_.RenewClaims(collector_id_, connected);
  if (!lost.ok()) return lost.status();
  for (const HostId& host : *lost) {
    const absl::StatusOr<bool> removed = hosts_.IsRemoved(host);
    if (removed.ok() && *removed) {
      EndIfRemoved(host);
      continue;
    }
    LogWarning("registry", absl::StrCat("host ", host, ": its claim is gone; ending its session here"));
    registry_.End(host, v1::Refusal(), absl::AbortedError("another collector drives this host now; connect again"));
  }
  return absl::OkStatus();
}

void ClaimKeeper::EndIfRemoved(const HostId& host) {
  if (!registry_.Connected(host)) return;
  const absl::StatusOr<bool> removed = hosts_.IsRemoved(host);
  if (!removed.ok() || !*removed) return;
  LogInfo("registry", absl::StrCat("host ", host, " was removed from the fleet; ending its session"));
  v1::Refusal refusal;
  refusal.set_reason(v1::REFUSAL_REASON_REMOVED);
  refusal.set_message(absl::StrCat("this host was removed from the fleet; ", kHowToEnrolAgain));
  registry_.End(host, refusal, absl::PermissionDeniedError(refusal.message()));
}

}  // namespace fleetmark::collector
