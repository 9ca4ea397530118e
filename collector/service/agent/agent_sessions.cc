#include "collector/service/agent/agent_sessions.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/lifecycle/thread_name.h"
#include "common/time/clock.h"

namespace fleetmark::collector {

AgentSessions::~AgentSessions() { assert(!thread_.joinable()); }

void AgentSessions::Start() {
  thread_ = std::thread([this] {
    SetThreadName("sessions");
    while (!stop_.WaitFor(absl::Seconds(1))) {
      for (const auto& session : All()) session->Tick(SystemClock().MonotonicNs());
    }
  });
}

absl::Status AgentSessions::Add(const HostId& host, const std::shared_ptr<AgentSession>& session) {
  MutexLock lock(mutex_);
  if (closing_) return absl::UnavailableError("the collector is stopping; connect again");
  auto& sessions = sessions_[host];
  if (sessions.size() >= kMostPerHost) {
    return absl::ResourceExhaustedError(absl::StrCat("host ", host, " has ", sessions.size(), " streams open already"));
  }
  sessions.push_back(session);
  ++count_;
  return absl::OkStatus();
}

void AgentSessions::Remove(const HostId& host, const AgentSession* session) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(host);
  if (found == sessions_.end()) return;
  count_ -= std::erase_if(found->second, [&](const auto& weak) { return weak.lock().get() == session; });
  if (found->second.empty()) sessions_.erase(found);
  changed_.NotifyAll();
}

std::vector<std::shared_ptr<AgentSession>> AgentSessions::All() {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<AgentSession>> all;
  all.reserve(count_);
  for (const auto& [host, sessions] : sessions_) {
    for (const auto& weak : sessions) {
      if (auto session = weak.lock()) all.push_back(std::move(session));
    }
  }
  return all;
}

size_t AgentSessions::Shutdown(absl::Duration deadline) {
  stop_.Request();
  if (thread_.joinable()) thread_.join();
  const absl::Time give_up = absl::Now() + deadline;
  {
    MutexLock lock(mutex_);
    closing_ = true;
  }
  for (const auto& session : All()) {
    session->End({}, absl::UnavailableError("the collector is stopping; connect again"));
  }
  MutexLock lock(mutex_);
  while (count_ > 0 && absl::Now() < give_up) {
    changed_.WaitFor(mutex_, absl::ToChronoNanoseconds(give_up - absl::Now()));
  }
  return count_;
}

}  // namespace fleetmark::collector
