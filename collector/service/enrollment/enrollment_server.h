// EnrollmentServer: the listener for machines that have no certificate yet. A gRPC server of its own that serves
// EnrollmentService and nothing else: no reflection, no health, messages of at most 64 KiB, short connections.
//
// Owned by the collector. Start() once; Shutdown() is idempotent. Calls are answered by one named thread with a queue
// of 32; what does not fit is RESOURCE_EXHAUSTED.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/service/enrollment/enrollment.h"

namespace fleetmark::collector {

class EnrollmentServer {
 public:
  // `address` as ParseAddress takes it; port 0 picks one. UNAVAILABLE: the port is in use, or the address is not this
  // machine's.
  static absl::StatusOr<std::unique_ptr<EnrollmentServer>> Start(const std::string& address, const TlsFiles& files);
  ~EnrollmentServer();  // REQUIRES: Shutdown() was called

  uint16_t port() const { return port_; }

  // From now on calls are answered; before, they are UNAVAILABLE. (The core needs the port for its invites.)
  void Serve(Enrollment& core);

  // Refuses new calls, waits for running ones until the deadline, cancels the rest.
  void Shutdown(absl::Duration deadline);

 private:
  class Impl;
  explicit EnrollmentServer(std::unique_ptr<Impl> impl, uint16_t port);
  std::unique_ptr<Impl> impl_;
  uint16_t port_;
};

}  // namespace fleetmark::collector
