// AgentRegistry: which agents are connected to this collector just now.
//
// Owned by the collector. Holds weak handles only: a session lives as long as its stream. Thread-safe; never blocks on
// anything but its own short lock.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "collector/registry/agent_link.h"
#include "collector/store/types.h"
#include "common/sync/mutex.h"

namespace fleetmark::collector {

class AgentRegistry {
 public:
  // Makes `link` the session of `host`. Returns the session it replaces, if that is still there: the caller ends it.
  std::shared_ptr<AgentLink> Add(const HostId& host, const std::shared_ptr<AgentLink>& link);

  // Takes `link` out if it still is the session of `host`; false if another has replaced it.
  bool Remove(const HostId& host, const AgentLink* link);

  // UNAVAILABLE: not connected here.
  absl::Status Send(const HostId& host, v1::CollectorMessage message) const;

  // Ends the session of `host`, if there is one.
  void End(const HostId& host, const v1::Refusal& refusal, const absl::Status& status) const;

  bool Connected(const HostId& host) const;
  std::vector<HostId> Hosts() const;
  size_t size() const;

 private:
  std::shared_ptr<AgentLink> Find(const HostId& host) const;

  mutable Mutex mutex_;
  std::map<HostId, std::weak_ptr<AgentLink>> links_ GUARDED_BY(mutex_);
};

}  // namespace fleetmark::collector
