#include "common/rpc/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace fleetmark {
namespace {

absl::Status Wrong(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("read the address \"", std::string(text.substr(0, 300)),
                                                 "\": ", std::string(why),
                                                 "; write host:port, 10.0.0.2:7401 or [fd00::5]:7401"));
}

std::optional<uint16_t> ParsePort(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || port > 65535) return std::nullopt;
  return static_cast<uint16_t>(port);
}

bool IsIpv4(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

// With or without a zone ("fe80::1%eth0").
bool IsIpv6(const std::string& host) {
  in6_addr address{};
  const size_t percent = host.find('%');
  if (percent != std::string::npos && percent + 1 == host.size()) return false;
  return ::inet_pton(AF_INET6, host.substr(0, percent).c_str(), &address) == 1;
}

bool IsName(std::string_view host) {
  if (host.empty() || host.size() > 253 || host.front() == '-') return false;
  const bool good = std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
  // "10.0.0.300" is a mistyped address, not a name.
  const bool numeric = std::all_of(
      host.begin(), host.end(), [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.'; });
  return good && !numeric;
}

}  // namespace

absl::StatusOr<Address> ParseAddress(std::string_view text, uint16_t default_port) {
  Address address;
  std::string_view host = text;
  std::optional<std::string_view> port;
  if (text.find("://") != std::string_view::npos) return Wrong(text, "a URL is not an address");
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return Wrong(text, "\"]\" is missing");
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return Wrong(text, "\"]\" must be followed by a port");
    if (!rest.empty()) port = rest.substr(1);
    if (!IsIpv6(std::string(host))) return Wrong(text, "there is no IPv6 address between the brackets");
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(host.size() + 1);
  }
  address.host = std::string(host);
  if (IsIpv4(address.host)) {
    address.kind = Address::Kind::kIpv4;
  } else if (IsIpv6(address.host)) {
    address.kind = Address::Kind::kIpv6;
  } else if (!IsName(host)) {
    return Wrong(text, "the host is neither a name nor an IP address");
  }
  if (port) {
    const std::optional<uint16_t> number = ParsePort(*port);
    if (!number) return Wrong(text, "the port must be a number up to 65535");
    address.port = *number;
  } else if (default_port == 0) {
    return Wrong(text, "the port is missing");
  } else {
    address.port = default_port;
  }
  return address;
}

std::string ToString(const Address& address) {
  if (address.kind == Address::Kind::kIpv6) return absl::StrCat("[", address.host, "]:", address.port);
  return absl::StrCat(address.host, ":", address.port);
}

std::string ToGrpcTarget(const Address& address) {
  switch (address.kind) {
    case Address::Kind::kIpv4:
      return absl::StrCat("ipv4:", ToString(address));
    case Address::Kind::kIpv6: {
      std::string host = address.host;
      if (const size_t percent = host.find('%'); percent != std::string::npos) host.replace(percent, 1, "%25");
      return absl::StrCat("ipv6:[", host, "]:", address.port);
    }
    case Address::Kind::kName:
      return absl::StrCat("dns:///", ToString(address));
  }
  return {};
}

}  // namespace fleetmark
