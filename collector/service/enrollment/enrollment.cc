#include "collector/service/enrollment/enrollment.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/pki/join_line.h"
#include "common/pki/random.h"
#include "common/rpc/address.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

constexpr absl::Duration kUsualValidity = absl::Hours(1);
constexpr absl::Duration kLeastValidity = absl::Minutes(1);
constexpr absl::Duration kMostValidity = absl::Hours(24 * 30);
constexpr size_t kMostNameBytes = 255;
constexpr size_t kMostHosts = 32;

std::string RoleText(v1::Role role) {
  switch (role) {
    case v1::ROLE_VIEWER:
      return "viewer";
    case v1::ROLE_OPERATOR:
      return "operator";
    case v1::ROLE_ADMIN:
      return "admin";
    default:
      return "";
  }
}

absl::StatusOr<TokenGrant> GrantOf(const v1::CreateInviteRequest& request) {
  TokenGrant grant;
  grant.kind = request.kind() == v1::INVITE_KIND_UNSPECIFIED ? v1::INVITE_KIND_HOST : request.kind();
  switch (grant.kind) {
    case v1::INVITE_KIND_HOST:
    case v1::INVITE_KIND_COLLECTOR:
      return grant;
    case v1::INVITE_KIND_PERSON:
      if (absl::Status status = CheckPersonName(request.person_name()); !status.ok()) return status;
      if (RoleText(request.role()).empty()) {
        return absl::InvalidArgumentError("invite a person: a role is needed: viewer, operator or admin");
      }
      grant.person_name = request.person_name();
      grant.role = request.role();
      return grant;
    default:
      return absl::InvalidArgumentError("invite: this collector knows hosts, collectors and people only");
  }
}

absl::StatusOr<absl::Duration> ValidityOf(const v1::CreateInviteRequest& request) {
  if (!request.has_valid_seconds()) return kUsualValidity;
  // Written so that a NaN is refused as well.
  if (!(request.valid_seconds() >= absl::ToDoubleSeconds(kLeastValidity) &&
        request.valid_seconds() <= absl::ToDoubleSeconds(kMostValidity))) {
    return absl::InvalidArgumentError("invite: it may be valid for 1 minute to 30 days");
  }
  return absl::Seconds(request.valid_seconds());
}

// A name or an IP address; the ports are the collector's own.
absl::StatusOr<std::string> BareHost(const std::string& text) {
  const absl::StatusOr<Address> address = ParseAddress(text, 1);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("invite: the address \"", text.substr(0, 300), "\" is neither a name nor an IP address"));
  }
  if (*address == *ParseAddress(text, 2)) {  // whatever the default: there is a port in the text
    return absl::InvalidArgumentError(
        absl::StrCat("invite: give the address \"", text, "\" without a port; the ports are the collector's"));
  }
  return address->host;
}

absl::StatusOr<std::vector<std::string>> HostsOf(const v1::CreateInviteRequest& request,
                                                 const std::vector<std::string>& own) {
  std::vector<std::string> hosts;
  for (const std::string& extra : request.extra_addresses()) {
    absl::StatusOr<std::string> host = BareHost(extra);
    if (!host.ok()) return host.status();
    hosts.push_back(*std::move(host));
  }
  hosts.insert(hosts.end(), own.begin(), own.end());
  if (hosts.size() > kMostHosts) hosts.resize(kMostHosts);
  return hosts;
}

const char* CommandFor(v1::InviteKind kind) {
  if (kind == v1::INVITE_KIND_PERSON) return "fleetmark login";
  return kind == v1::INVITE_KIND_COLLECTOR ? "fleetmark-collector join" : "fleetmark-agent join";
}

Identity IdentityFor(const TokenGrant& grant, const std::string& id) {
  switch (grant.kind) {
    case v1::INVITE_KIND_PERSON:
      return {IdentityKind::kPerson, grant.person_name, RoleText(grant.role)};
    case v1::INVITE_KIND_COLLECTOR:
      return {IdentityKind::kCollector, id, ""};
    default:
      return {IdentityKind::kHost, id, ""};
  }
}

}  // namespace

Enrollment::Enrollment(Authority& authority, TrustStore& store, Options options, const Clock& clock)
    : authority_(authority),
      store_(store),
      options_(std::move(options)),
      clock_(clock),
      limiter_(options_.limits, clock) {}

absl::StatusOr<v1::CreateInviteResponse> Enrollment::CreateInvite(const v1::CreateInviteRequest& request,
                                                                  const std::string& who) {
  if (!authority_.can_sign()) {
    return absl::FailedPreconditionError(
        "invite: this collector does not hold the key of the fleet's CA; ask the collector that was started first");
  }
  const absl::StatusOr<TokenGrant> grant = GrantOf(request);
  if (!grant.ok()) return grant.status();
  const absl::StatusOr<absl::Duration> validity = ValidityOf(request);
  if (!validity.ok()) return validity.status();
  absl::StatusOr<std::vector<std::string>> hosts = HostsOf(request, options_.hosts);
  if (!hosts.ok()) return hosts.status();

  const std::string token = RandomToken();
  const absl::StatusOr<std::string> line = FormatJoinLine(
      {*std::move(hosts), options_.enrollment_port, options_.main_port, authority_.ca_fingerprint_hex(), token});
  if (!line.ok()) return line.status();
  const absl::Time expires = clock_.Now() + *validity;
  if (absl::Status status = store_.AddToken(Sha256Hex(token), *grant, expires, who); !status.ok()) return status;

  v1::CreateInviteResponse response;
  response.set_join_line(*line);
  response.set_command(absl::StrCat(CommandFor(grant->kind), " ", *line));
  response.set_expires_at_unix_seconds(absl::ToDoubleSeconds(expires - absl::UnixEpoch()));
  return response;
}

absl::StatusOr<v1::EnrollResponse> Enrollment::Enroll(const v1::EnrollRequest& request, const std::string& peer) {
  if (!limiter_.MayTry(peer)) {
    return absl::ResourceExhaustedError("enrol: too many wrong tokens lately; wait a minute and try again");
  }
  if (request.token().size() > 128 || request.host_name().size() > kMostNameBytes) {
    limiter_.CountFailure(peer);
    return absl::InvalidArgumentError("enrol: token or host name are too long");
  }
  const auto sign = [&](const TokenGrant& grant, const std::string& id) -> absl::StatusOr<IssuedCertificate> {
    if (request.kind() != v1::INVITE_KIND_UNSPECIFIED && request.kind() != grant.kind) {
      return absl::FailedPreconditionError(
          absl::StrCat("this line is for another program; it is still good, with: ", CommandFor(grant.kind), " LINE"));
    }
    return authority_.Sign(IdentityFor(grant, id), request.certificate_request_der());
  };
  const absl::StatusOr<Enrolled> enrolled =
      store_.Enroll(Sha256Hex(request.token()), CleanUtf8(request.host_name()), sign);
  if (!enrolled.ok()) {
    // The database's troubles are not the peer's guesses.
    if (absl::IsPermissionDenied(enrolled.status()) || absl::IsInvalidArgument(enrolled.status())) {
      limiter_.CountFailure(peer);
      LogWarning("enrol", absl::StrCat("refused ", peer, ": ", enrolled.status().message()));
    }
    return enrolled.status();
  }
  LogInfo("enrol", absl::StrCat(peer, " joined as ", enrolled->certificate.subject, " (", enrolled->name, ")"));

  v1::EnrollResponse response;
  response.set_host_id(enrolled->id);
  response.set_host_name(enrolled->name);
  response.set_certificate_chain_pem(enrolled->certificate.pem);
  response.set_ca_certificate_pem(authority_.ca_pem());
  for (const std::string& host : options_.hosts) {
    const absl::StatusOr<Address> address =
        ParseAddress(host.find(':') == std::string::npos ? host : absl::StrCat("[", host, "]"), options_.main_port);
    if (address.ok()) response.add_collector_addresses(ToString(*address));
  }
  return response;
}

}  // namespace fleetmark::collector
