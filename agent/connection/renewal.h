// Renewal: a new certificate for this host, in time and over the connection that the old one opened. The key is kept.
//
// Owned and called by the link's thread. One try an hour; a failure is a warning with the day the old one ends.
#pragma once

#include <string>

#include "agent/connection/link.h"
#include "common/pki/tls_files.h"
#include "common/time/clock.h"
#include "fleetmark/v1/agent.grpc.pb.h"

namespace fleetmark::agent {

class Renewal {
 public:
  Renewal(TlsFiles files, const Clock& clock) : files_(std::move(files)), clock_(clock) {}

  // Looks whether `material` is due; if so asks (at most 3 s) and writes the new chain when the disk is free.
  // Connections made afterwards use it.
  void Look(v1::AgentService::Stub& stub, const TlsMaterial& material, LinkListener& listener);

 private:
  void Ask(v1::AgentService::Stub& stub, const TlsMaterial& material);
  void Keep(LinkListener& listener);

  const TlsFiles files_;
  const Clock& clock_;
  int64_t next_look_ns_ = 0;
  std::string new_chain_;  // received and not yet written
};

}  // namespace fleetmark::agent
