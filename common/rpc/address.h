// Addresses of listeners and peers as people write them: "host:port", "[fd00::5]:7401", a bare IPv6 address, or without
// a port. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fleetmark {

inline constexpr uint16_t kMainPort = 7401;        // agents, people and collectors: mutual TLS
inline constexpr uint16_t kEnrollmentPort = 7402;  // machines that have no certificate yet

struct Address {
  enum class Kind { kIpv4, kIpv6, kName };
  Kind kind = Kind::kName;
  std::string host;  // without brackets
  uint16_t port = 0;
  bool operator==(const Address&) const = default;
};

// `default_port` 0: the port is required. Port 0 itself is allowed ("127.0.0.1:0", to listen anywhere).
absl::StatusOr<Address> ParseAddress(std::string_view text, uint16_t default_port);

std::string ToString(const Address& address);      // "[fd00::5]:7401"
std::string ToGrpcTarget(const Address& address);  // "ipv6:[fd00::5]:7401", "dns:///nas:7401"

}  // namespace fleetmark
