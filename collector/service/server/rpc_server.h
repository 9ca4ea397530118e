// RpcServer: the main listener: agents and people, mutual TLS only, with gRPC's health and reflection behind it.
//
// Owned by the collector. Start() once; Shutdown() is idempotent and must come before the services go. Live streams
// are told to end by their owners first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/service/server/service_pointer.h"
#include "common/pki/tls_files.h"

namespace fleetmark::collector {

class RpcServer {
 public:
  // `address` as ParseAddress takes it; port 0 picks one. ALREADY_EXISTS: the port is in use. The certificate is read
  // again when its file changes.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const std::string& address, const TlsFiles& files,
                                                          const std::vector<grpc::Service*>& services);
  ~RpcServer();  // REQUIRES: Shutdown() was called

  uint16_t port() const { return port_; }
  const std::string& host() const { return host_; }

  // Refuses new calls, waits for running ones until the deadline, cancels the rest and waits for their reactors.
  void Shutdown(absl::Duration deadline);

 private:
  class Impl;
  RpcServer(std::unique_ptr<Impl> impl, std::string host, uint16_t port);
  const std::unique_ptr<Impl> impl_;
  const std::string host_;
  const uint16_t port_;
};

}  // namespace fleetmark::collector
