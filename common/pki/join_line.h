// The one line an invited machine is given: where to enrol, whom to trust, and the one-time right to do it.
//
//   fm1/10.0.0.2,fd00::5,nas.local/7402/7401/<CA fingerprint>/<token>/<check>
//
// Only characters that no shell touches. Fingerprint (SHA-256 of the CA's DER) and token are 256 bits in base64url; the
// check catches cut or mistyped lines before anything is sent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fleetmark {

struct JoinLine {
  std::vector<std::string> hosts;  // IP addresses (bare, also IPv6) and names, best first
  uint16_t enrollment_port = 0;
  uint16_t main_port = 0;
  std::string ca_fingerprint_hex;  // 64 characters
  std::string token;               // 43 characters
  bool operator==(const JoinLine&) const = default;
};

// INVALID_ARGUMENT: a host that cannot stand in a line, no host, wrong lengths.
absl::StatusOr<std::string> FormatJoinLine(const JoinLine& line);

// Surrounding blanks and quotes, line breaks from a terminal's wrapping and a "fleetmark-agent join" in front are
// forgiven. INVALID_ARGUMENT says which part is wrong, and never repeats the token.
absl::StatusOr<JoinLine> ParseJoinLine(std::string_view text);

}  // namespace fleetmark
