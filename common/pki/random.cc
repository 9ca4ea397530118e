#include "common/pki/random.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <cstdlib>

#include "absl/status/status.h"

namespace fleetmark {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int SixBits(char c) {
  const size_t at = kAlphabet.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

}  // namespace

std::string RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1) std::abort();
  return bytes;
}

std::string RandomToken() { return ToBase64Url(RandomBytes(32)); }

std::string NewUuid() {
  std::string bytes = RandomBytes(16);
  bytes[6] = static_cast<char>((static_cast<unsigned char>(bytes[6]) & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((static_cast<unsigned char>(bytes[8]) & 0x3f) | 0x80);
  std::string hex = ToHex(bytes);
  for (const size_t dash : {size_t{8}, size_t{13}, size_t{18}, size_t{23}}) hex.insert(dash, 1, '-');
  return hex;
}

std::string Sha256(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) std::abort();
  return std::string(digest.begin(), digest.end());
}

std::string Sha256Hex(std::string_view bytes) { return ToHex(Sha256(bytes)); }

std::string ToHex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::string ToBase64Url(std::string_view bytes) {
  std::string text;
  unsigned pending = 0;
  unsigned bits = 0;
  for (const char c : bytes) {
    pending = (pending << 8) | static_cast<unsigned char>(c);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += kAlphabet[(pending >> bits) & 63];
    }
  }
  if (bits > 0) text += kAlphabet[(pending << (6 - bits)) & 63];
  return text;
}

absl::StatusOr<std::string> FromBase64Url(std::string_view text) {
  std::string bytes;
  unsigned pending = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const int value = SixBits(c);
    if (value < 0) return absl::InvalidArgumentError("not base64url");
    pending = (pending << 6) | static_cast<unsigned>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>((pending >> bits) & 0xff);
    }
  }
  if (bits >= 6 || (pending & ((1U << bits) - 1)) != 0) return absl::InvalidArgumentError("not canonical base64url");
  return bytes;
}

}  // namespace fleetmark
