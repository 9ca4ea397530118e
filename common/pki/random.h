// Random names and secrets, and the hash they are compared by. From the system's generator; abort without one.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fleetmark {

std::string RandomBytes(size_t count);
std::string RandomToken();  // 256 bits, base64url without padding (43 characters)
std::string NewUuid();      // version 4, 36 characters, lower case

std::string Sha256(std::string_view bytes);     // 32 bytes
std::string Sha256Hex(std::string_view bytes);  // 64 characters

std::string ToHex(std::string_view bytes);
std::string ToBase64Url(std::string_view bytes);
absl::StatusOr<std::string> FromBase64Url(std::string_view text);  // INVALID_ARGUMENT also for non-canonical texts

}  // namespace fleetmark
