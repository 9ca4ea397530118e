#include "collector/store/listener.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collector/store/error_mapping.h"
#include "collector/store/shared_statements.h"
#include "common/lifecycle/thread_name.h"
#include "common/log/log.h"
#include "common/time/backoff.h"

namespace fleetmark::collector {
namespace {

constexpr absl::Duration kTick = absl::Seconds(2);

struct CloseConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using ConnectionPtr = std::unique_ptr<PGconn, CloseConnection>;

struct FreeMemory {
  void operator()(void* memory) const { PQfreemem(memory); }
};

std::optional<Notification::Kind> KindOf(std::string_view channel) {
  if (channel == kRunChannel) return Notification::Kind::kRun;
  if (channel == kTaskChannel) return Notification::Kind::kTask;
  if (channel == kHostChannel) return Notification::Kind::kHost;
  if (channel == kProgressChannel) return Notification::Kind::kProgress;
  return std::nullopt;
}

bool Listen(PGconn* connection) {
  const std::string statement = absl::StrCat("LISTEN ", kRunChannel, "; LISTEN ", kTaskChannel, "; LISTEN ",
                                             kHostChannel, "; LISTEN ", kProgressChannel);
  PGresult* result = PQexec(connection, statement.c_str());
  const bool ok = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  return ok;
}

}  // namespace

Listener::Listener(std::string connection_string, std::function<void(const Notification&)> callback)
    : connection_string_(std::move(connection_string)), callback_(std::move(callback)), thread_([this] { Run(); }) {}

void Listener::Stop() {
  stop_.Request();
  if (thread_.joinable()) thread_.join();
}

void Listener::Tick() { callback_(Notification{Notification::Kind::kRun, ""}); }

void Listener::Serve(void* opaque) {
  PGconn* connection = static_cast<PGconn*>(opaque);
  absl::Time next_tick = absl::Now() + kTick;
  while (!stop_.requested()) {
    pollfd watched[2] = {{stop_.fd(), POLLIN, 0}, {PQsocket(connection), POLLIN, 0}};
    const absl::Duration wait = std::clamp(next_tick - absl::Now(), absl::ZeroDuration(), kTick);
    poll(watched, 2, static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1);
    if (stop_.requested()) return;
    if (watched[1].revents != 0 && PQconsumeInput(connection) == 0) return;
    while (const std::unique_ptr<PGnotify, FreeMemory> notification{PQnotifies(connection)}) {
      if (const auto kind = KindOf(notification->relname)) callback_(Notification{*kind, notification->extra});
    }
    if (PQstatus(connection) != CONNECTION_OK) return;
    if (absl::Now() >= next_tick) {
      Tick();
      next_tick = absl::Now() + kTick;
    }
  }
}

void Listener::Run() {
  SetThreadName("fm-listener");
  Backoff backoff({.initial = absl::Milliseconds(200), .cap = absl::Seconds(10)});
  absl::Time last_log = absl::InfinitePast();
  absl::Time last_tick = absl::InfinitePast();
  while (!stop_.requested()) {
    const ConnectionPtr connection(PQconnectdb(connection_string_.c_str()));
    PQsetNoticeProcessor(
        connection.get(), [](void*, const char*) {}, nullptr);
    if (PQstatus(connection.get()) == CONNECTION_OK && Listen(connection.get())) {
      backoff.Reset();
      Tick();  // what happened while nobody listened
      Serve(connection.get());
      last_tick = absl::Now();
      continue;
    }
    if (absl::Now() - last_log >= absl::Minutes(1)) {
      last_log = absl::Now();
      const ErrorInfo info = ClassifyError("", PQerrorMessage(connection.get()), true);
      LogWarning("store", absl::StrCat("cannot listen for notifications (looking every 2 s instead): ", info.text));
    }
    const absl::Time until = absl::Now() + backoff.Next() + absl::Milliseconds(50);
    while (!stop_.requested() && absl::Now() < until) {
      if (absl::Now() - last_tick >= kTick) {
        Tick();
        last_tick = absl::Now();
      }
      stop_.WaitFor(std::min(until - absl::Now(), kTick));
    }
  }
}

}  // namespace fleetmark::collector
