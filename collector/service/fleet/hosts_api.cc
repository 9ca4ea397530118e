#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/service/fleet/fleet_api.h"
#include "collector/service/present/present.h"
#include "common/pki/identity.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

constexpr int kMostLabels = 64;

bool IsPlain(std::string_view text, std::string_view forbidden) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != 0x7f && forbidden.find(c) == std::string_view::npos;
  });
}

absl::Status CheckLabel(const std::string& key, const std::string& value) {
  if (key.empty() || key.size() > 64 || !IsPlain(key, "=,")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "label \"", EscapeForTerminal(key), "\": a label's name has 1 to 64 characters, without blanks, '=' and ','"));
  }
  if (value.size() > 256 || CleanUtf8(value) != value || EscapeForTerminal(value) != value) {
    return absl::InvalidArgumentError(
        absl::StrCat("label ", key, ": a value has at most 256 bytes, without control characters"));
  }
  return absl::OkStatus();
}

absl::Status CheckHostName(const std::string& name) {
  if (name.empty() || name.size() > 64 || !IsPlain(name, "=,:/@") || IsUuid(name)) {
    return absl::InvalidArgumentError(absl::StrCat("host name \"", EscapeForTerminal(name),
                                                   "\": 1 to 64 characters, without blanks and any of = , : / @"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::ListHostsResponse> FleetApi::ListHosts(const Caller&, const v1::ListHostsRequest& request) {
  absl::StatusOr<std::vector<v1::Host>> hosts =
      in_.hosts.ListHosts({request.where().begin(), request.where().end()}, request.with_inventory());
  if (!hosts.ok()) return hosts.status();
  v1::ListHostsResponse response;
  for (v1::Host& host : *hosts) {
    DescribeHost(host);
    *response.add_hosts() = std::move(host);
  }
  return response;
}

absl::StatusOr<v1::GetHostResponse> FleetApi::GetHost(const Caller&, const v1::GetHostRequest& request) {
  absl::StatusOr<v1::Host> host = in_.hosts.FindHost(request.host());
  if (!host.ok()) return host.status();
  DescribeHost(*host);
  v1::GetHostResponse response;
  *response.mutable_host() = *std::move(host);
  return response;
}

absl::StatusOr<v1::LabelHostResponse> FleetApi::LabelHost(const Caller& caller, const v1::LabelHostRequest& request) {
  for (const auto& [key, value] : request.set()) {
    if (const absl::Status status = CheckLabel(key, value); !status.ok()) return status;
  }
  if (request.set_size() > kMostLabels) {
    return absl::InvalidArgumentError(absl::StrCat("a host has at most ", kMostLabels, " labels"));
  }
  const absl::StatusOr<v1::Host> host = in_.hosts.FindHost(request.host());
  if (!host.ok()) return host.status();
  if (host->labels_size() + request.set_size() > kMostLabels + request.remove_size()) {
    return absl::InvalidArgumentError(absl::StrCat("a host has at most ", kMostLabels, " labels"));
  }
  const absl::Status set = in_.hosts.SetLabels(host->id(), {request.set().begin(), request.set().end()},
                                               {request.remove().begin(), request.remove().end()}, caller.name);
  if (!set.ok()) return set;
  absl::StatusOr<v1::Host> changed = in_.hosts.FindHost(host->id());
  if (!changed.ok()) return changed.status();
  DescribeHost(*changed);
  v1::LabelHostResponse response;
  *response.mutable_host() = *std::move(changed);
  return response;
}

absl::StatusOr<v1::RenameHostResponse> FleetApi::RenameHost(const Caller& caller,
                                                            const v1::RenameHostRequest& request) {
  if (const absl::Status status = CheckHostName(request.new_name()); !status.ok()) return status;
  const absl::StatusOr<v1::Host> host = in_.hosts.FindHost(request.host());
  if (!host.ok()) return host.status();
  const absl::Status renamed = in_.hosts.RenameHost(host->id(), request.new_name(), caller.name);
  if (!renamed.ok()) return renamed;
  absl::StatusOr<v1::Host> changed = in_.hosts.FindHost(host->id());
  if (!changed.ok()) return changed.status();
  DescribeHost(*changed);
  v1::RenameHostResponse response;
  *response.mutable_host() = *std::move(changed);
  return response;
}

absl::StatusOr<v1::RemoveHostResponse> FleetApi::RemoveHost(const Caller& caller,
                                                            const v1::RemoveHostRequest& request) {
  absl::StatusOr<v1::Host> host = in_.hosts.FindHost(request.host());
  if (!host.ok()) return host.status();
  const absl::Status removed = in_.hosts.RemoveHost(host->id(), caller.name);
  if (!removed.ok()) return removed;
  in_.host_removed(host->id());
  host->set_connected(false);
  host->set_activity("removed");
  v1::RemoveHostResponse response;
  *response.mutable_host() = *std::move(host);
  return response;
}

absl::StatusOr<v1::CreateInviteResponse> FleetApi::CreateInvite(const Caller& caller,
                                                                const v1::CreateInviteRequest& request) {
  return in_.invite(request, caller.name);
}

}  // namespace fleetmark::collector
