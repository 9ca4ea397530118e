#include "agent/commands/status.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/spool/sqlite_spool.h"
#include "common/lifecycle/directory_lock.h"
#include "common/pki/files.h"
#include "common/pki/identity.h"
#include "common/pki/tls_files.h"
#include "common/units/format.h"

namespace fleetmark::agent {
namespace {

constexpr char kJoinFirst[] = "first type the line of `fleetmark hosts invite` here: it joins a fleet";

void ReadIdentity(v1::LocalStatus& result) {
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(IdentityFiles(result.state_directory()));
  if (!material.ok()) {
    result.set_identity_problem(absl::IsNotFound(material.status()) ? "this machine has joined no fleet"
                                                                    : std::string(material.status().message()));
    return;
  }
  if (const absl::StatusOr<absl::Time> end = ExpiryOf(*material); end.ok()) {
    result.set_certificate_end_unix_seconds(absl::ToDoubleSeconds(*end - absl::UnixEpoch()));
  }
  const absl::StatusOr<Identity> identity = IdentityOfCertificate(material->certificate_chain_pem);
  if (identity.ok()) {
    result.set_host_id(identity->id);
  } else {
    result.set_identity_problem(std::string(identity.status().message()));
  }
}

void ReadConfig(v1::LocalStatus& result) {
  const absl::StatusOr<v1::AgentConfig> config = LoadAgentConfig(result.config_file());
  if (!config.ok()) {
    result.set_config_problem(std::string(config.status().message()));
    return;
  }
  *result.mutable_collectors() = config->collectors();
  for (const v1::TargetConfig& from : config->targets()) {
    v1::Target& target = *result.add_targets();
    target.set_name(from.name());
    target.set_path(from.path());
    target.set_is_default(from.is_default());
  }
}

void ReadAgent(v1::LocalStatus& result) {
  const absl::StatusOr<DirectoryLock> look = DirectoryLock::AcquireShared(result.state_directory());
  if (absl::IsFailedPrecondition(look.status())) {
    result.set_running(true);
    const absl::StatusOr<int64_t> process = DirectoryLock::Owner(result.state_directory());
    if (process.ok()) result.set_process(*process);
    return;
  }
  if (!look.ok() && !absl::IsNotFound(look.status())) {
    result.set_agent_problem(std::string(look.status().message()));
    return;
  }
  result.set_running(false);
  SqliteSpool::Options options;
  options.path = result.state_directory() + "/spool.db";
  options.interrupt_running = false;
  if (look.ok() && FileExists(options.path)) *result.mutable_spool() = SqliteSpool(options).Status();
}

std::string DescribeAgent(const v1::LocalStatus& status) {
  if (status.running()) {
    return status.has_process() ? absl::StrCat("running, process ", status.process()) : "running";
  }
  if (!status.has_running()) return absl::StrCat("cannot be told: ", status.agent_problem());
  return absl::StrCat("not running; ", status.host_id().empty() ? kJoinFirst : "start it with: fleetmark-agent start");
}

// Facts both tables have in common, and those of the spool, which differ.
Table FactTable(const v1::LocalStatus& status) {
  Table table;
  const auto add = [&table](const char* fact, Cell value) {
    table.rows.push_back({Cell::Text(fact), std::move(value)});
  };
  add("state", Cell::Text(status.state_directory()));
  add("identity", status.host_id().empty() ? Cell() : Cell::Text(status.host_id()));
  if (!status.identity_problem().empty()) add("identity problem", Cell::Text(status.identity_problem()));
  if (status.has_certificate_end_unix_seconds()) {
    const absl::Time end = absl::UnixEpoch() + absl::Seconds(status.certificate_end_unix_seconds());
    add("certificate until", Cell::Text(absl::StrCat(absl::FormatTime("%Y-%m-%d", end, absl::UTCTimeZone()),
                                                     end < absl::Now() ? " (over by this machine's clock)" : "")));
  }
  add("configuration", Cell::Text(status.config_file()));
  if (!status.config_problem().empty()) add("configuration problem", Cell::Text(status.config_problem()));
  for (const std::string& collector : status.collectors()) add("collector", Cell::Text(collector));
  for (const v1::Target& target : status.targets()) {
    add("target",
        Cell::Text(absl::StrCat(target.name(), ": ", target.path(), target.is_default() ? " (default)" : "")));
  }
  add("agent", Cell::Text(DescribeAgent(status)));
  if (!status.spool().refuses_tasks_because().empty()) {
    add("would take no tasks", Cell::Text(status.spool().refuses_tasks_because()));
  }
  return table;
}

}  // namespace

v1::LocalStatus ReadLocalStatus(const Places& places) {
  v1::LocalStatus result;
  result.set_state_directory(places.State());
  result.set_config_file(places.Config());
  ReadIdentity(result);
  ReadConfig(result);
  ReadAgent(result);
  return result;
}

Table StatusTable(const v1::LocalStatus& status) {
  Table table = FactTable(status);
  table.columns = {{.header = "this agent"}, {.header = ""}};
  if (status.has_spool()) {
    table.rows.push_back(
        {Cell::Text("spool"), Cell::Text(absl::StrCat(status.spool().spooled_records(), " records, ",
                                                      FormatQuantity(status.spool().spool_bytes(), Unit::kBytes)))});
  }
  return table;
}

Table StatusCsv(const v1::LocalStatus& status) {
  Table table = FactTable(status);
  table.columns = {{.header = "fact"}, {.header = "value"}};
  if (status.has_spool()) {
    table.rows.push_back({Cell::Text("spooled records"), Cell::Text(absl::StrCat(status.spool().spooled_records()))});
    table.rows.push_back({Cell::Text("spool bytes"), Cell::Text(FormatNumber(status.spool().spool_bytes()))});
  }
  return table;
}

int ShowStatus(const Places& places, const OutputOptions& output) {
  const v1::LocalStatus status = ReadLocalStatus(places);
  const int printed = Print(output, {StatusTable(status)}, StatusCsv(status), status);
  return printed != kExitOk || status.running() ? printed : kExitFailed;
}

}  // namespace fleetmark::agent
