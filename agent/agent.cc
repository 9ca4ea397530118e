#include "agent/agent.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/config/agent_config.h"
#include "agent/connection/agent_link.h"
#include "agent/executor/executor.h"
#include "agent/inventory/inventory.h"
#include "agent/join/join.h"
#include "agent/platform/machine.h"
#include "agent/recorder/task_desk.h"
#include "agent/spool/outbox.h"
#include "agent/spool/sqlite_spool.h"
#include "agent/workloads/workload.h"
#include "common/lifecycle/directory_lock.h"
#include "common/log/log.h"
#include "common/pki/files.h"
#include "common/pki/identity.h"
#include "common/pki/random.h"
#include "common/pki/tls_files.h"
#include "common/rpc/process.h"
#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

// Together under 5 s, as service managers and impatient people like it.
constexpr absl::Duration kExecutorDeadline = absl::Seconds(3);
constexpr absl::Duration kDrainDeadline = absl::Seconds(1);
constexpr absl::Duration kLinkDeadline = absl::Milliseconds(500);

std::string Text(const absl::Status& status) { return std::string(status.message()); }

v1::Hello MakeGreeting(const v1::AgentConfig& config) {
  v1::Hello greeting;
  greeting.set_host_name(ReadHostName());
  greeting.set_boot_id(ReadBootId());
  greeting.set_session_id(NewUuid());
  greeting.set_agent_version(FLEETMARK_VERSION);
  for (const WorkloadEntry& entry : WorkloadTable()) {
    if (IsWorkloadAllowed(config, entry.descriptor.name())) *greeting.add_workloads() = entry.descriptor;
  }
  return greeting;
}

// Members in start order: what is below uses what is above, and goes before it.
class Agent {
 public:
  Agent(const AgentOptions& options, v1::AgentConfig config, const AgentLimits& limits, std::string state_directory)
      : config_(std::move(config)),
        state_directory_(std::move(state_directory)),
        spool_(SpoolOptions(limits)),
        outbox_(spool_),
        desk_(DeskParts()),
        executor_(Executor::Create(ExecutorDependencies(options))),
        link_(AgentLink::Create(LinkOptions(options), LinkDependencies())) {
    desk_.Connect(*executor_, *link_);
  }

  void Start() {
    for (const std::string& line : spool_.TakeMessages()) LogWarning("agent", line);
    const v1::AgentStatus status = spool_.Status();
    if (!status.refuses_tasks_because().empty()) {
      LogError("agent", absl::StrCat("no tasks are taken: ", status.refuses_tasks_because()));
    }
    if (status.spooled_records() > 0) {
      LogInfo("agent", absl::StrCat(status.spooled_records(), " records wait for a collector"));
    }
    desk_.Replay();
    executor_->Start();
    link_->Start();
  }

  // Refuse new work; end what runs (its end goes into the spool); give the collector a moment to take what is spooled;
  // end the stream. The spool closes with the last reference to it: the destructor.
  void Shutdown() {
    desk_.StopIntake();
    Tell(executor_->Shutdown(kExecutorDeadline));
    link_->Drain(kDrainDeadline);
    Tell(link_->Shutdown(kLinkDeadline));
    if (const uint64_t left = spool_.Status().spooled_records(); left > 0) {
      LogInfo("agent", absl::StrCat(left, " records stay in the spool for the next start"));
    }
  }

 private:
  static void Tell(const std::string& abandoned) {
    if (!abandoned.empty()) LogWarning("agent", absl::StrCat("abandoned: ", abandoned));
  }

  SqliteSpool::Options SpoolOptions(const AgentLimits& limits) const {
    SqliteSpool::Options options;
    options.path = state_directory_ + "/spool.db";
    options.capacity_bytes = static_cast<uint64_t>(limits.spool_capacity_bytes);
    return options;
  }

  TaskDesk::Parts DeskParts() {
    TaskDesk::Parts parts;
    parts.outbox = &outbox_;
    parts.config = &config_;
    parts.take_inventory = [this] { return fleetmark::agent::TakeInventory(config_); };
    parts.validate = [this](const v1::StartTask& task) { return ValidateTask(config_, task); };
    parts.greeting = MakeGreeting(config_);
    return parts;
  }

  Executor::Dependencies ExecutorDependencies(const AgentOptions& options) {
    Executor::Dependencies dependencies;
    dependencies.config = &config_;
    dependencies.take_inventory = [this] { return desk_.TakeInventory(); };
    dependencies.state_directory = state_directory_;
    dependencies.listener = &desk_;
    dependencies.worker_program = options.worker_program;
    return dependencies;
  }

  AgentLink::Options LinkOptions(const AgentOptions& options) const {
    AgentLink::Options link;
    link.collectors.assign(config_.collectors().begin(), config_.collectors().end());
    link.identity = IdentityFiles(state_directory_);
    link.backoff = options.backoff;
    return link;
  }

  AgentLink::Dependencies LinkDependencies() {
    AgentLink::Dependencies dependencies;
    dependencies.listener = &desk_;
    return dependencies;
  }

  const v1::AgentConfig config_;
  const std::string state_directory_;
  SqliteSpool spool_;
  Outbox outbox_;
  TaskDesk desk_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<AgentLink> link_;
};

absl::StatusOr<v1::AgentConfig> LoadConfig(const std::string& path) {
  std::vector<std::string> warnings;
  absl::StatusOr<v1::AgentConfig> config = LoadAgentConfig(path, &warnings);
  for (const std::string& warning : warnings) LogWarning("agent", warning);
  if (absl::IsNotFound(config.status())) {
    return absl::NotFoundError(
        absl::StrCat("no configuration ", path, "; type the line of `fleetmark hosts invite` here: it writes one"));
  }
  if (config.ok() && config->collectors().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " names no collector; add a line such as: collectors: \"10.0.0.2:7401\""));
  }
  return config;
}

// The host's id, once it is clear that there is an identity to connect with.
absl::StatusOr<std::string> LoadHostId(const std::string& state_directory) {
  const absl::StatusOr<TlsMaterial> material = LoadTlsMaterial(IdentityFiles(state_directory));
  if (absl::IsNotFound(material.status())) {
    return absl::NotFoundError(absl::StrCat("this machine has joined no fleet (nothing in ", state_directory,
                                            "/identity); type the line of `fleetmark hosts invite` here"));
  }
  if (!material.ok()) return material.status();
  const absl::StatusOr<Identity> identity = IdentityOfCertificate(material->certificate_chain_pem);
  if (!identity.ok()) return identity.status();
  return identity->id;
}

// Before the log begins: said to whoever typed the command.
int Fail(const absl::Status& status) {
  std::cerr << "fleetmark-agent: " << EscapeForTerminal(Text(status)) << "\n";
  return 1;
}

}  // namespace

int RunAgent(const AgentOptions& options, StopSignal& stop) {
#if defined(__GLIBC__)
  // A guest on the machine: one heap for the few threads there are, and memory that is free goes back.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_TRIM_THRESHOLD, 128 << 10);
#endif
  PrepareRpc(RpcLog::kErrors);
  const std::string state_directory =
      options.state_directory.empty() ? DefaultStateDirectory() : options.state_directory;
  absl::StatusOr<v1::AgentConfig> config =
      LoadConfig(options.config_path.empty() ? DefaultConfigPath() : options.config_path);
  if (!config.ok()) return Fail(config.status());
  const absl::StatusOr<AgentLimits> limits = LimitsOf(*config);
  if (!limits.ok()) return Fail(limits.status());
  if (const absl::Status made = MakePrivateDirectory(state_directory); !made.ok()) return Fail(made);
  const absl::StatusOr<std::string> host_id = LoadHostId(state_directory);
  if (!host_id.ok()) return Fail(host_id.status());

  // A directory that cannot be written does not stop the agent: it stays connected and says so. One in use does.
  absl::StatusOr<DirectoryLock> lock = DirectoryLock::Acquire(state_directory, absl::Seconds(2));
  if (absl::IsFailedPrecondition(lock.status())) return Fail(lock.status());
  if (!lock.ok()) LogWarning("agent", Text(lock.status()));

  LogInfo("agent", absl::StrCat("fleetmark-agent ", FLEETMARK_VERSION, " starts: pid ", ::getpid(), ", host ", *host_id,
                                ", state ", state_directory));
  for (const std::string& line : SweepScratch(state_directory)) LogInfo("agent", line);

  Agent agent(options, *std::move(config), *limits, state_directory);
  agent.Start();
  while (!stop.WaitFor(absl::Hours(24))) {
  }
  LogInfo("agent", "fleetmark-agent stops");
  agent.Shutdown();
  return 0;
}

}  // namespace fleetmark::agent
