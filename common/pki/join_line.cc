#include "common/pki/join_line.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/pki/random.h"

namespace fleetmark {
namespace {

constexpr size_t kLongestLine = 4096;
constexpr size_t kMostHosts = 32;
constexpr size_t kSecretCharacters = 43;  // 256 bits
constexpr size_t kCheckCharacters = 4;

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("read the join line: ", std::string(what), "; copy the whole line that the invite printed"));
}

bool IsHost(std::string_view host) {
  return !host.empty() && host.size() <= 253 && host.front() != '-' &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_' || c == ':';
         });
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

uint16_t ParsePort(const std::string& text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port > 65535) return 0;
  return static_cast<uint16_t>(port);
}

std::string CheckOf(std::string_view body) { return ToBase64Url(Sha256(body)).substr(0, kCheckCharacters); }

std::string WithoutBlanksAndQuotes(std::string_view text) {
  std::string bare;
  for (const char c : text) {
    if (!absl::ascii_isspace(static_cast<unsigned char>(c)) && c != '"' && c != '\'' && c != '`') bare += c;
  }
  return bare;
}

}  // namespace

absl::StatusOr<std::string> FormatJoinLine(const JoinLine& line) {
  if (line.hosts.empty() || line.hosts.size() > kMostHosts) {
    return absl::InvalidArgumentError(absl::StrCat("make a join line: 1 to ", kMostHosts, " addresses are needed"));
  }
  for (const std::string& host : line.hosts) {
    if (!IsHost(host)) {
      return absl::InvalidArgumentError(
          absl::StrCat("make a join line: \"", host, "\" is neither an IP address nor a name"));
    }
  }
  if (line.enrollment_port == 0 || line.main_port == 0) return absl::InvalidArgumentError("make a join line: no port");
  std::string fingerprint;
  for (size_t i = 0; i + 1 < line.ca_fingerprint_hex.size(); i += 2) {
    unsigned byte = 0;
    const char* at = line.ca_fingerprint_hex.data() + i;
    if (std::from_chars(at, at + 2, byte, 16).ptr != at + 2) break;
    fingerprint += static_cast<char>(byte);
  }
  if (fingerprint.size() != 32 || line.ca_fingerprint_hex.size() != 64) {
    return absl::InvalidArgumentError("make a join line: the fingerprint is not 64 hexadecimal digits");
  }
  if (line.token.size() != kSecretCharacters || !FromBase64Url(line.token).ok()) {
    return absl::InvalidArgumentError("make a join line: the token is malformed");
  }
  const std::string body = absl::StrCat("fm1/", absl::StrJoin(line.hosts, ","), "/", line.enrollment_port, "/",
                                        line.main_port, "/", ToBase64Url(fingerprint), "/", line.token);
  return absl::StrCat(body, "/", CheckOf(body));
}

absl::StatusOr<JoinLine> ParseJoinLine(std::string_view text) {
  if (text.size() > kLongestLine) return Wrong("it is far too long");
  std::string bare = WithoutBlanksAndQuotes(text);
  if (bare.empty()) return Wrong("it is empty");
  // A whole command may have been pasted.
  for (const std::string_view command : {"joinfm", "loginfm"}) {
    if (const size_t at = bare.find(command); at != std::string::npos && !bare.starts_with("fm")) {
      bare.erase(0, at + command.size() - 2);
    }
  }
  if (!bare.starts_with("fm1/")) {
    if (bare.starts_with("fm") && bare.size() > 3 && absl::ascii_isdigit(static_cast<unsigned char>(bare[2]))) {
      return absl::InvalidArgumentError(
          "read the join line: it is of a newer kind than this program knows (fm1); install the collector's version");
    }
    return Wrong("it does not start with fm1/");
  }
  const std::vector<std::string> parts = Split(bare, '/');
  if (parts.size() != 7) {
    return Wrong(parts.size() < 7 ? "its end is missing" : "there is something behind its end");
  }
  if (parts[6] != CheckOf(std::string_view(bare).substr(0, bare.size() - parts[6].size() - 1))) {
    return Wrong("it has a typing error, or its end is missing");
  }
  JoinLine line;
  line.hosts = Split(parts[1], ',');
  if (line.hosts.size() > kMostHosts || !std::all_of(line.hosts.begin(), line.hosts.end(), IsHost)) {
    return Wrong("its addresses are malformed");
  }
  line.enrollment_port = ParsePort(parts[2]);
  line.main_port = ParsePort(parts[3]);
  if (line.enrollment_port == 0 || line.main_port == 0) return Wrong("its ports are malformed");
  const absl::StatusOr<std::string> fingerprint = FromBase64Url(parts[4]);
  if (!fingerprint.ok() || fingerprint->size() != 32) return Wrong("its fingerprint is malformed");
  line.ca_fingerprint_hex = ToHex(*fingerprint);
  const absl::StatusOr<std::string> token = FromBase64Url(parts[5]);
  if (!token.ok() || token->size() != 32) return Wrong("its token is malformed");
  line.token = parts[5];
  return line;
}

}  // namespace fleetmark
