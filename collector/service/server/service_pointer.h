// A gRPC service, owned by code that knows nothing of gRPC.
#pragma once

#include <memory>

namespace grpc {
class Service;
}

namespace fleetmark::collector {

struct ServiceDeleter {
  void operator()(grpc::Service* service) const;
};
using ServicePointer = std::unique_ptr<grpc::Service, ServiceDeleter>;

}  // namespace fleetmark::collector
