#include "collector/service/fleet/roles.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetmark::collector {
namespace {

struct Method {
  std::string_view name;
  v1::Role least;
  std::string_view doing;  // what a person would say of it
};

constexpr Method kMethods[] = {
    {"GetStatus", v1::ROLE_VIEWER, "asking for the collector's state"},
    {"ListHosts", v1::ROLE_VIEWER, "listing the hosts"},
    {"GetHost", v1::ROLE_VIEWER, "looking at a host"},
    {"LabelHost", v1::ROLE_OPERATOR, "labelling a host"},
    {"RenameHost", v1::ROLE_OPERATOR, "renaming a host"},
    {"RemoveHost", v1::ROLE_ADMIN, "removing a host"},
    {"CreateInvite", v1::ROLE_ADMIN, "inviting"},
    {"ListWorkloads", v1::ROLE_VIEWER, "listing the workloads"},
    {"ListSuites", v1::ROLE_VIEWER, "listing the suites"},
    {"AddSuite", v1::ROLE_OPERATOR, "adding a suite"},
    {"CreateRun", v1::ROLE_OPERATOR, "starting a run"},
    {"ListRuns", v1::ROLE_VIEWER, "listing the runs"},
    {"GetRun", v1::ROLE_VIEWER, "looking at a run"},
    {"CancelRun", v1::ROLE_OPERATOR, "cancelling a run"},
    {"WatchRun", v1::ROLE_VIEWER, "watching a run"},
    {"Compare", v1::ROLE_VIEWER, "comparing"},
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
  for (const auto& [name, least, doing] : kMethods) {
    if (name != method) continue;
    if (caller.role >= least) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(Text(doing), " needs the role ", Text(NameOf(least)), "; ",
                                                    caller.name, " is ", Text(NameOf(caller.role)),
                                                    "; an admin can invite you with another role"));
  }
  return absl::PermissionDeniedError(absl::StrCat("nobody may call ", Text(method)));
}

}  // namespace fleetmark::collector
