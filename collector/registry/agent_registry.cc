#include "collector/registry/agent_registry.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector {

std::shared_ptr<AgentLink> AgentRegistry::Add(const HostId& host, const std::shared_ptr<AgentLink>& link) {
  MutexLock lock(mutex_);
  std::weak_ptr<AgentLink>& slot = links_[host];
  std::shared_ptr<AgentLink> former = slot.lock();
  slot = link;
  return former == link ? nullptr : former;
}

bool AgentRegistry::Remove(const HostId& host, const AgentLink* link) {
  MutexLock lock(mutex_);
  const auto found = links_.find(host);
  if (found == links_.end()) return false;
  const std::shared_ptr<AgentLink> present = found->second.lock();
  if (present.get() != link) return false;
  links_.erase(found);
  return true;
}

std::shared_ptr<AgentLink> AgentRegistry::Find(const HostId& host) const {
  MutexLock lock(mutex_);
  const auto found = links_.find(host);
  return found == links_.end() ? nullptr : found->second.lock();
}

absl::Status AgentRegistry::Send(const HostId& host, v1::CollectorMessage message) const {
  const std::shared_ptr<AgentLink> link = Find(host);
  if (!link) return absl::UnavailableError(absl::StrCat("host ", host, " is not connected to this collector"));
  return link->Send(std::move(message));
}

void AgentRegistry::End(const HostId& host, const v1::Refusal& refusal, const absl::Status& status) const {
  if (const std::shared_ptr<AgentLink> link = Find(host)) link->End(refusal, status);
}

bool AgentRegistry::Connected(const HostId& host) const { return Find(host) != nullptr; }

std::vector<HostId> AgentRegistry::Hosts() const {
  MutexLock lock(mutex_);
  std::vector<HostId> hosts;
  hosts.reserve(links_.size());
  for (const auto& [host, link] : links_) {
    if (!link.expired()) hosts.push_back(host);
  }
  return hosts;
}

size_t AgentRegistry::size() const { return Hosts().size(); }

}  // namespace fleetmark::collector
