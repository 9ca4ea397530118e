// fleetmark hosts invite, collectors invite, people invite: lines that let somebody join.
#include <memory>

#include "cli/commands/command.h"
#include "common/units/format.h"
#include "common/units/parse.h"

namespace fleetmark::cli {
namespace {

struct InviteOptions {
  std::string valid = "1h", person, role = "operator";
  std::vector<std::string> addresses;
  bool line_only = false;
};

std::shared_ptr<InviteOptions> AddInviteOptions(CLI::App& app) {
  const auto options = std::make_shared<InviteOptions>();
  app.add_option("--valid", options->valid, "how long the line may be used, once")->capture_default_str();
  app.add_option("--address", options->addresses, "further addresses of the collector, put first into the line")
      ->allow_extra_args(false);
  app.add_flag("--line-only", options->line_only, "print nothing but the line, for scripts");
  return options;
}

int Invite(Context& context, const InviteOptions& options, v1::CreateInviteRequest request, const std::string& where) {
  const absl::StatusOr<absl::Duration> valid = ParseDuration(options.valid);
  if (!valid.ok()) return context.Fail(valid.status());
  request.set_valid_seconds(absl::ToDoubleSeconds(*valid));
  for (const std::string& address : options.addresses) request.add_extra_addresses(address);
  v1::CreateInviteResponse response;
  if (const absl::Status status = context.Ask(request, response); !status.ok()) return context.Fail(status);
  Table table{.columns = {{.header = options.line_only ? "line" : "command"}}};
  table.rows.push_back({Cell::Text(options.line_only ? response.join_line() : response.command())});
  if (context.output() == OutputMode::kTable) {
    // The bare line, whatever the terminal's width: it is to be copied.
    const absl::Status written =
        WriteStdout((options.line_only ? response.join_line() : response.command()) + std::string("\n"));
    if (!written.ok() && !absl::IsCancelled(written)) return context.Fail(written, kExitFailed);
    if (!options.line_only) {
      context.Say("Type this " + where + ". It can be used once, until " +
                  FormatTimestamp(absl::FromUnixSeconds(static_cast<int64_t>(response.expires_at_unix_seconds())),
                                  absl::LocalTimeZone()) +
                  ".");
    }
    return kExitOk;
  }
  return context.Print(response, table);
}

}  // namespace

Action DeclareHostsInvite(CLI::App& app) {
  const auto options = AddInviteOptions(app);
  return [options](Context& context) {
    v1::CreateInviteRequest request;
    request.set_kind(v1::INVITE_KIND_HOST);
    return Invite(context, *options, request, "on the machine that is to join");
  };
}

Action DeclareCollectorsInvite(CLI::App& app) {
  const auto options = AddInviteOptions(app);
  return [options](Context& context) {
    v1::CreateInviteRequest request;
    request.set_kind(v1::INVITE_KIND_COLLECTOR);
    return Invite(context, *options, request, "on the machine of the further collector");
  };
}

Action DeclarePeopleInvite(CLI::App& app) {
  const auto options = AddInviteOptions(app);
  app.add_option("name", options->person, "who")->required();
  app.add_option("--role", options->role, "viewer (read), operator (run, cancel, label), admin (invite, remove)")
      ->check(CLI::IsMember({"viewer", "operator", "admin"}))
      ->capture_default_str();
  return [options](Context& context) {
    v1::CreateInviteRequest request;
    request.set_kind(v1::INVITE_KIND_PERSON);
    request.set_person_name(options->person);
    request.set_role(options->role == "viewer"     ? v1::ROLE_VIEWER
                     : options->role == "operator" ? v1::ROLE_OPERATOR
                                                   : v1::ROLE_ADMIN);
    return Invite(context, *options, request, "in that person's account");
  };
}

}  // namespace fleetmark::cli
