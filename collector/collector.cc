#include "collector/collector.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collector/fresh_directory.h"
#include "collector/ingest/ingest.h"
#include "collector/pki/authority.h"
#include "collector/private_postgres/private_postgres.h"
#include "collector/registry/agent_registry.h"
#include "collector/registry/claim_keeper.h"
#include "collector/scheduler/scheduler.h"
#include "collector/service/agent/agent_service.h"
#include "collector/service/dispatch/periodic.h"
#include "collector/service/enrollment/advertise.h"
#include "collector/service/enrollment/enrollment_server.h"
#include "collector/service/fleet/database_monitor.h"
#include "collector/service/fleet/fleet_service.h"
#include "collector/service/server/port_probe.h"
#include "collector/service/server/rpc_server.h"
#include "collector/store/store.h"
#include "common/lifecycle/directory_lock.h"
#include "common/log/log.h"
#include "common/pki/files.h"
#include "common/rpc/address.h"
#include "common/text/text.h"

namespace fleetmark::collector {
namespace {

constexpr unsigned kAgentWorkers = 6;
constexpr unsigned kFleetWorkers = 4;
// One connection each for workers, scheduler, claims, watches and the monitor.
constexpr unsigned kPoolSize = kAgentWorkers + kFleetWorkers + 4;

std::string UserName() {
  const char* name = std::getenv("USER");
  if (name != nullptr && *name != '\0') return name;
  return getuid() == 0 ? "root" : absl::StrCat("user-", getuid());
}

// The name of this machine's user as it may stand in a certificate.
std::string PersonName() {
  std::string name;
  for (const char c : UserName()) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    name += plain ? c : '_';
  }
  return name.substr(0, 64);
}

std::string LocalAddress(const std::string& listen_host, uint16_t port) {
  const bool any = listen_host.empty() || listen_host == "::" || listen_host == "0.0.0.0";
  absl::StatusOr<Address> address = ParseAddress(any ? "127.0.0.1" : listen_host, port);
  if (!address.ok()) return absl::StrCat(listen_host, ":", port);
  address->port = port;
  return ToString(*address);
}

// Private, but for root: its private PostgreSQL runs as an unprivileged user, who must be able to pass through.
absl::Status MakeStateDirectory(const std::string& path) {
  if (geteuid() != 0) return MakePrivateDirectory(path);
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    const bool made = mkdir(part.c_str(), 0711) == 0;
    // Once more with chmod: the mode is a matter of working at all, whatever the umask says.
    if (made ? chmod(part.c_str(), 0711) != 0 : errno != EEXIST) {
      return absl::UnavailableError(
          absl::StrCat("make directory ", part, ": ", std::strerror(errno), "; choose another place with --state-dir"));
    }
    if (slash == std::string::npos) return absl::OkStatus();
  }
}

}  // namespace

// All that needs the database to be there, in start order.
class Collector::Parts {
  class Events final : public SessionEvents {
   public:
    Events(Scheduler& scheduler, WatchHub& watches) : scheduler_(scheduler), watches_(watches) {}
    void HostReady(const HostId& host) override { scheduler_.ReleaseHost(host); }
    void HostRefuses(const HostId& host, absl::Duration wait) override { scheduler_.HoldHost(host, wait); }
    void RunsChanged(const std::vector<RunId>& runs) override {
      for (const RunId run : runs) watches_.RunChanged(run);
    }
    void ProgressArrived(const HostId& host, const v1::Progress& progress) override {
      watches_.Progress(host, progress);
    }

   private:
    Scheduler& scheduler_;
    WatchHub& watches_;
  };

 public:
  explicit Parts(CollectorOptions given) : options(std::move(given)) {}

  absl::Status Start(const StopSignal& stop) {
    if (const absl::Status status = OpenState(); !status.ok()) return status;
    if (const absl::Status status = OpenDatabase(stop); !status.ok()) return status;
    auto opened = Authority::Open(options.state_directory, store->trust());
    if (!opened.ok()) return opened.status();
    authority = *std::move(opened);
    MakeCores();
    if (const absl::Status status = Listen(); !status.ok()) return status;
    StartThreads();
    if (const absl::Status status = WriteClientConfig(); !status.ok()) return status;
    fresh->Keep();
    return absl::OkStatus();
  }

  absl::Status Shutdown(absl::Duration deadline) {
    if (stopped) return absl::OkStatus();
    stopped = true;
    const absl::Time give_up = absl::Now() + deadline;
    std::vector<std::string> abandoned;
    if (enrollment_server) enrollment_server->Shutdown(absl::Milliseconds(500));
    if (store) store->StopListening();
    if (scheduler) scheduler->Shutdown();
    if (sessions) {
      if (const size_t left = sessions->Shutdown(absl::Seconds(2)); left > 0) {
        abandoned.push_back(absl::StrCat(left, " streams of agents"));
      }
    }
    if (watches) watches->Shutdown();
    if (claims) claims->Shutdown();
    if (renewal) renewal->Shutdown();
    if (server) server->Shutdown(absl::Seconds(1));
    size_t dropped = 0;
    if (fleet_workers) dropped += fleet_workers->Shutdown(absl::Seconds(1));
    if (agent_workers) dropped += agent_workers->Shutdown(absl::Seconds(2));
    if (dropped > 0) abandoned.push_back(absl::StrCat(dropped, " queued jobs"));
    if (monitor) monitor->Shutdown();
    // Nobody uses these any more; the store goes last, then its server.
    fleet_service.reset();
    agent_service.reset();
    api.reset();
    store.reset();
    if (postgres) {
      const absl::Status ended = postgres->Shutdown(std::max(give_up - absl::Now(), absl::Seconds(2)));
      if (!ended.ok()) abandoned.push_back(std::string(ended.message()));
    }
    if (abandoned.empty()) return absl::OkStatus();
    std::string text;
    for (const std::string& what : abandoned) absl::StrAppend(&text, text.empty() ? "" : ", ", what);
    return absl::DeadlineExceededError(absl::StrCat("abandoned ", text));
  }

  const CollectorOptions options;
  bool stopped = false;
  std::string address, enroll_address, database;

 private:
  absl::Status OpenState() {
    fresh.emplace(options.state_directory, std::vector<std::string>{"lock"});
    if (const absl::Status status = MakeStateDirectory(options.state_directory); !status.ok()) return status;
    absl::StatusOr<DirectoryLock> taken = DirectoryLock::Acquire(options.state_directory, absl::Seconds(2));
    if (!taken.ok()) return taken.status();
    lock.emplace(*std::move(taken));
    // Said before minutes of preparation, not after.
    if (const absl::Status free = ProbeListen(options.listen, kMainPort, "--listen"); !free.ok()) return free;
    return ProbeListen(options.enroll_listen, kEnrollmentPort, "--enroll-listen");
  }

  absl::Status OpenDatabase(const StopSignal& stop) {
    DatabaseOptions database_options;
    database_options.dsn = options.database;
    database_options.pool_size = kPoolSize;
    database = RedactDsn(options.database);
    if (options.database.empty()) {
      PrivatePostgresOptions postgres_options;
      postgres_options.state_directory = options.state_directory;
      auto started = PrivatePostgres::Start(postgres_options);
      if (!started.ok()) return started.status();
      postgres = *std::move(started);
      database_options.dsn = postgres->dsn();
      database = "a private PostgreSQL";
    }
    database_options.connect_deadline = absl::Seconds(5);
    for (bool said = false;;) {
      absl::StatusOr<std::unique_ptr<Store>> opened = Store::Open(database_options);
      if (opened.ok()) {
        store = *std::move(opened);
        if (said) LogInfo("collector", "the database is there");
        return absl::OkStatus();
      }
      if (opened.status().code() != absl::StatusCode::kUnavailable) return opened.status();
      if (!std::exchange(said, true)) {
        LogWarning("collector", absl::StrCat("waiting for the database: ", std::string(opened.status().message()),
                                             "; start it, or stop this collector and mend --database"));
      }
      if (stop.WaitFor(absl::Seconds(2))) return absl::CancelledError("stopped while waiting for the database");
    }
  }

  void MakeCores() {
    const std::string& id = authority->collector_id();
    ingest = std::make_unique<Ingest>(store->results());
    agent_workers = std::make_unique<ShardedWorkers>("agents", kAgentWorkers);
    fleet_workers = std::make_unique<ShardedWorkers>("fleet", kFleetWorkers);
    scheduler = std::make_unique<Scheduler>(store->runs(), registry, id);
    watches = std::make_unique<WatchHub>(store->runs(), registry, id);
    claims = std::make_unique<ClaimKeeper>(store->hosts(), registry, id);
    monitor = std::make_unique<DatabaseMonitor>([this] { return store->Check(); });
    renewal = std::make_unique<Periodic>("renewal", absl::Hours(6), [this] {
      const absl::StatusOr<bool> renewed = authority->RenewServerCertificate();
      if (!renewed.ok()) {
        LogError("collector",
                 absl::StrCat("renew this collector's certificate: ", std::string(renewed.status().message())));
      } else if (*renewed) {
        LogInfo("collector", "renewed this collector's certificate");
      }
    });
    events = std::make_unique<Events>(*scheduler, *watches);
    suites = std::make_unique<SuiteCatalog>(store->suites());
    sessions = std::make_unique<AgentSessions>();
    session_context =
        std::make_unique<SessionContext>(SessionContext{store->hosts(), store->runs(), store->trust(), *ingest,
                                                        registry, *agent_workers, *events, id, options.version});
    session_context->largest_batch_bytes = options.largest_batch_bytes;
    FleetDependencies fleet{
        store->hosts(),
        store->runs(),
        store->results(),
        *suites,
        registry,
        [this] { return monitor->status(); },
        [this](const v1::CreateInviteRequest& request, const std::string& who) { return Invite(request, who); },
        [this](RunId run) {
          watches->RunChanged(run);
          scheduler->WakeAll();
        },
        [this](const HostId& host) { claims->EndIfRemoved(host); },
        id,
        options.version};
    api = std::make_unique<FleetApi>(std::move(fleet));
    agent_service = MakeAgentService(*session_context, *sessions, *authority);
    fleet_service = MakeFleetService(*api, *watches, store->trust(), *fleet_workers);
  }

  absl::StatusOr<v1::CreateInviteResponse> Invite(const v1::CreateInviteRequest& request, const std::string& who) {
    if (!enrollment) {
      return absl::FailedPreconditionError(
          "this collector does not hold the fleet's CA and cannot invite; ask the first one");
    }
    return enrollment->CreateInvite(request, who);
  }

  absl::Status Listen() {
    uint16_t enroll_port = 0;
    if (authority->can_sign()) {
      auto started = EnrollmentServer::Start(options.enroll_listen, authority->server_files());
      if (!started.ok()) return started.status();
      enrollment_server = *std::move(started);
      enroll_port = enrollment_server->port();
      const absl::StatusOr<Address> parsed = ParseAddress(options.enroll_listen, kEnrollmentPort);
      enroll_address = LocalAddress(parsed.ok() ? parsed->host : "", enroll_port);
    }
    auto started =
        RpcServer::Start(options.listen, authority->server_files(), {agent_service.get(), fleet_service.get()});
    if (!started.ok()) return started.status();
    server = *std::move(started);
    address = LocalAddress(server->host(), server->port());
    if (enrollment_server) {
      Enrollment::Options enroll;
      enroll.hosts = options.advertise.empty() ? AdvertisedHosts(server->host()) : options.advertise;
      enroll.enrollment_port = enroll_port;
      enroll.main_port = server->port();
      enrollment = std::make_unique<Enrollment>(*authority, store->trust(), enroll);
      enrollment_server->Serve(*enrollment);
    }
    return absl::OkStatus();
  }

  void StartThreads() {
    monitor->Start();
    claims->Start();
    renewal->Start();
    sessions->Start();
    watches->Start();
    scheduler->Start();
    store->Listen([this](const Notification& notification) { OnNotification(notification); });
  }

  // On the listener's thread: passes on and returns.
  void OnNotification(const Notification& notification) {
    switch (notification.kind) {
      case Notification::Kind::kRun:
        if (notification.id.empty()) {  // a new connection, or the poll
          watches->RunChanged(0);
          scheduler->WakeAll();
          return;
        }
        watches->RunChanged(std::strtoll(notification.id.c_str(), nullptr, 10));
        scheduler->WakeAll();  // another host's turn in a serial run
        return;
      case Notification::Kind::kTask:
        if (registry.Connected(notification.id)) scheduler->Wake(notification.id);
        return;
      case Notification::Kind::kHost:
        if (registry.Connected(notification.id)) {
          agent_workers->Post(notification.id, [this, host = notification.id] { claims->EndIfRemoved(host); });
        }
        return;
      case Notification::Kind::kProgress:
        return;  // read once a second while somebody watches
    }
  }

  absl::Status WriteClientConfig() {
    if (options.config_directory.empty() || !authority->can_sign()) return absl::OkStatus();
    const absl::Status written = authority->WriteLocalAdmin(options.config_directory, PersonName(), {address});
    if (written.ok()) return written;
    // The fleet works without it; whoever sits here has to be invited.
    LogWarning("collector", absl::StrCat("configuration of this machine's user: ", std::string(written.message())));
    return absl::OkStatus();
  }

  std::optional<FreshDirectory> fresh;  // of a start that does not succeed nothing is left
  std::optional<DirectoryLock> lock;
  std::unique_ptr<PrivatePostgres> postgres;
  std::unique_ptr<Store> store;
  std::unique_ptr<Authority> authority;
  AgentRegistry registry;
  std::unique_ptr<Ingest> ingest;
  std::unique_ptr<ShardedWorkers> agent_workers, fleet_workers;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<WatchHub> watches;
  std::unique_ptr<ClaimKeeper> claims;
  std::unique_ptr<DatabaseMonitor> monitor;
  std::unique_ptr<Periodic> renewal;
  std::unique_ptr<Events> events;
  std::unique_ptr<SuiteCatalog> suites;
  std::unique_ptr<AgentSessions> sessions;
  std::unique_ptr<SessionContext> session_context;
  std::unique_ptr<FleetApi> api;
  ServicePointer agent_service, fleet_service;
  std::unique_ptr<EnrollmentServer> enrollment_server;
  std::unique_ptr<Enrollment> enrollment;
  std::unique_ptr<RpcServer> server;
};

Collector::Collector(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Collector::~Collector() = default;

absl::StatusOr<std::unique_ptr<Collector>> Collector::Start(const CollectorOptions& options, const StopSignal& stop) {
  auto parts = std::make_unique<Parts>(options);
  const absl::Status started = parts->Start(stop);
  if (!started.ok()) {
    parts->Shutdown(absl::Seconds(5)).IgnoreError();
    return started;
  }
  return std::unique_ptr<Collector>(new Collector(std::move(parts)));
}

const std::string& Collector::address() const { return parts_->address; }
const std::string& Collector::enroll_address() const { return parts_->enroll_address; }
const std::string& Collector::database() const { return parts_->database; }

absl::Status Collector::Shutdown(absl::Duration deadline) { return parts_->Shutdown(deadline); }

}  // namespace fleetmark::collector
