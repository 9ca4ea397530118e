#include "collector/service/fleet/roles.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector {
namespace {

constexpr std::pair<std::string_view, v1::Role> kMethods[] = {
    {"GetStatus", v1::ROLE_VIEWER},   {"ListHosts", v1::ROLE_VIEWER},     {"GetHost", v1::ROLE_VIEWER},
    {"LabelHost", v1::ROLE_OPERATOR}, {"RenameHost", v1::ROLE_OPERATOR},  {"RemoveHost", v1::ROLE_ADMIN},
    {"CreateInvite", v1::ROLE_ADMIN}, {"ListWorkloads", v1::ROLE_VIEWER}, {"ListSuites", v1::ROLE_VIEWER},
    {"AddSuite", v1::ROLE_OPERATOR},  {"CreateRun", v1::ROLE_OPERATOR},   {"ListRuns", v1::ROLE_VIEWER},
    {"GetRun", v1::ROLE_VIEWER},      {"CancelRun", v1::ROLE_OPERATOR},   {"WatchRun", v1::ROLE_VIEWER},
    {"Compare", v1::ROLE_VIEWER},
};

std::string_view NameOf(v1::Role role) {
  switch (role) {
    case v1::ROLE_VIEWER:
      return "viewer";
    case v1::ROLE_OPERATOR:
      return "operator";
    case v1::ROLE_ADMIN:
      return "admin";
    default:
      return "none";
  }
}

std::string Text(std::string_view text) { return std::string(text); }

}  // namespace

absl::StatusOr<Caller> CallerOf(const Peer& peer) {
  if (peer.identity.kind != IdentityKind::kPerson) {
    return absl::PermissionDeniedError(
        absl::StrCat("this is for people; the certificate is that of ", ToUri(peer.identity)));
  }
  for (const v1::Role role : {v1::ROLE_VIEWER, v1::ROLE_OPERATOR, v1::ROLE_ADMIN}) {
    if (NameOf(role) == peer.identity.role) return Caller{peer.identity.id, role};
  }
  return absl::PermissionDeniedError(absl::StrCat("the certificate of ", peer.identity.id,
                                                  " has a role this collector does not know: ", peer.identity.role));
}

absl::Status CheckRole(const Caller& caller, std::string_view method) {
  for (const auto& [name, least] : kMethods) {
    if (name != method) continue;
    if (caller.role >= least) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(Text(method), " needs the role ", Text(NameOf(least)), "; ",
                                                    caller.name, " is ", Text(NameOf(caller.role)),
                                                    "; an admin can invite you with another role"));
  }
  return absl::PermissionDeniedError(absl::StrCat("nobody may call ", Text(method)));
}

}  // namespace fleetmark::collector
