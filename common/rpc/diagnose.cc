#include "common/rpc/diagnose.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/pki/certificate.h"
#include "common/pki/identity.h"
#include "common/rpc/bare_handshake.h"

namespace fleetmark {
namespace {

// Words of gRPC's own messages about a connection. A collector's UNAVAILABLE may quote some of them when it is about
// its database; that one names PostgreSQL.
constexpr const char* kConnectionWords[] = {
    "failed to connect", "DNS resolution failed",
    "Socket closed",     "onnection reset",
    "Broken pipe",       "GOAWAY",
    "keepalive",         "Endpoint read",
    "ransport closed",   "recvmsg",
    "handshake",         "empty address list",
    "onnection refused", "onnection timed out",
};

bool IsAboutTheConnection(const absl::Status& status) {
  if (absl::StrContains(status.message(), "PostgreSQL")) return false;
  return std::any_of(std::begin(kConnectionWords), std::end(kConnectionWords),
                     [&](const char* word) { return absl::StrContains(status.message(), word); });
}

std::string ShowTime(absl::Time time) { return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone()); }

std::string WhyNoChain(const absl::Status& probe) {
  const std::string reason(probe.message().data(), probe.message().size());
  if (absl::StrContains(reason, "no TLS 1.3 at")) {
    return absl::StrCat(reason, ": what listens there is no collector of this version; is the port right?");
  }
  if (absl::StrContains(reason, "onnection refused")) {
    return "connection refused: nothing listens there; is the collector running, and is the port right?";
  }
  if (reason.starts_with("find ")) return absl::StrCat(reason, "; use the collector's IP address, or mend the name");
  if (absl::IsDeadlineExceeded(probe)) return "no answer: is the machine up, and does a firewall drop its packets?";
  return reason;
}

// What is wrong with the presented certificates, or "".
std::string WhyNotThisChain(const std::vector<std::string>& chain, const TlsMaterial& material, absl::Time now) {
  const absl::StatusOr<CertificateInfo> leaf = DescribeCertificate(chain.front());
  const absl::StatusOr<CertificateInfo> theirs = DescribeCertificate(chain.back());
  const absl::StatusOr<CertificateInfo> ours = DescribeCertificate(material.ca_pem);
  if (!leaf.ok() || !theirs.ok() || !ours.ok()) return "its certificate cannot be read";
  if (!CheckSignedBy(chain.front(), material.ca_pem).ok()) {
    return absl::StrCat("it belongs to another fleet, or somebody is in between: it presents the CA ",
                        theirs->fingerprint_hex, ", and this program trusts ", ours->fingerprint_hex,
                        "; join that fleet with a new invite, or mend the address");
  }
  const std::string name(kCollectorDnsName);
  if (!leaf->may_serve || std::find(leaf->dns_names.begin(), leaf->dns_names.end(), name) == leaf->dns_names.end()) {
    std::string presented = leaf->dns_names.empty() ? leaf->common_name : leaf->dns_names.front();
    return absl::StrCat("it presents the certificate of \"", presented, "\", which is not a collector's (", name, ")");
  }
  if (now > leaf->not_after) {
    return absl::StrCat("its certificate expired at ", ShowTime(leaf->not_after),
                        " by this machine's clock, which says ", ShowTime(now),
                        "; set the clock if it is wrong, else restart the collector, which renews it");
  }
  return "";
}

}  // namespace

absl::Status ExplainUnavailable(const absl::Status& status, const std::string& address, const TlsMaterial& material,
                                absl::Duration timeout) {
  if (!absl::IsUnavailable(status) || !IsAboutTheConnection(status)) return status;
  const absl::StatusOr<Address> parsed = ParseAddress(address, kMainPort);
  if (!parsed.ok()) return status;
  const std::string prefix = absl::StrCat("collector ", ToString(*parsed), " is not reachable: ");
  const absl::Time now = absl::Now();
  if (const absl::Status own = CheckValidity(material, now); !own.ok()) {
    return absl::UnavailableError(absl::StrCat(prefix, own.message()));
  }
  const absl::StatusOr<std::vector<std::string>> chain = PresentedChain(*parsed, timeout);
  if (!chain.ok()) return absl::UnavailableError(absl::StrCat(prefix, WhyNoChain(chain.status())));
  if (const std::string why = WhyNotThisChain(*chain, material, now); !why.empty()) {
    return absl::UnavailableError(absl::StrCat(prefix, why));
  }
  return absl::UnavailableError(absl::StrCat("collector ", ToString(*parsed), " ended the connection (",
                                             status.message(),
                                             "): it is stopping, or it does not accept this program's certificate"));
}

}  // namespace fleetmark
