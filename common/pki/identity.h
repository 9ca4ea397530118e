// Who a certificate stands for: the URI names in our leaves, and how they are made and read. Pure functions.
//   urn:fleetmark:host:<uuid>   urn:fleetmark:collector:<uuid>   urn:fleetmark:person:<role>:<name>
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetmark {

// The name under which every collector is verified, whatever address was dialled.
inline constexpr std::string_view kCollectorDnsName = "collector.fleetmark.internal";

enum class IdentityKind { kHost, kCollector, kPerson };

struct Identity {
  IdentityKind kind = IdentityKind::kHost;
  std::string id;    // UUID of a host or collector; a person's name
  std::string role;  // of a person: "viewer", "operator" or "admin"; else empty
  bool operator==(const Identity&) const = default;
};

std::string ToUri(const Identity& identity);

// INVALID_ARGUMENT for everything but the three forms above, in their canonical spelling.
absl::StatusOr<Identity> ParseIdentityUri(std::string_view uri);

// The identity of the first certificate in `pem`. INVALID_ARGUMENT if it has none or more than one.
absl::StatusOr<Identity> IdentityOfCertificate(const std::string& pem);

// A person's name as it may stand in a certificate: 1 to 64 of a-z A-Z 0-9 . _ -
absl::Status CheckPersonName(std::string_view name);
bool IsUuid(std::string_view text);  // 36 characters, lower case

}  // namespace fleetmark
