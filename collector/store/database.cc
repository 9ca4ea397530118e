#include "collector/store/database.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/log/log.h"
#include "common/time/backoff.h"

namespace fleetmark::collector {
namespace {

constexpr char kArea[] = "store";

// Calls do not nest: with a bounded pool, threads that hold one connection and wait for another would block for ever.
thread_local bool in_transaction = false;

struct InTransaction {
  InTransaction() { in_transaction = true; }
  ~InTransaction() { in_transaction = false; }
};

// How long to go on for this kind of error; zero: not at all.
absl::Duration Patience(ErrorKind kind, const Database::Options& options) {
  switch (kind) {
    case ErrorKind::kConnection:
    case ErrorKind::kConflict:
      return options.retry_for;
    case ErrorKind::kBusy:
      return options.busy_retry_for;
    default:
      return absl::ZeroDuration();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> Database::Borrow(const std::string& what) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  MutexLock lock(mutex_);
  while (true) {
    if (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    if (count_ < options_.pool_size) {
      ++count_;
      return nullptr;  // to be built, outside the lock
    }
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      return absl::UnavailableError(
          absl::StrCat(what, ": all ", options_.pool_size, " database connections are in use; try again"));
    }
    returned_.WaitFor(mutex_, absl::ToChronoNanoseconds(left));
  }
}

void Database::GiveBack(std::unique_ptr<Connection> connection) {
  MutexLock lock(mutex_);
  if (connection == nullptr) {
    --count_;
  } else {
    idle_.push_back(std::move(connection));
  }
  returned_.NotifyOne();
}

unsigned Database::connections() const {
  MutexLock lock(mutex_);
  return count_;
}

absl::Status Database::Try(const std::string& what, const std::string& settings, const Work& work,
                           std::optional<ErrorInfo>& info, bool& commit_sent) {
  absl::StatusOr<std::unique_ptr<Connection>> borrowed = Borrow(what);
  if (!borrowed.ok()) return borrowed.status();
  std::unique_ptr<Connection> connection = std::move(*borrowed);
  absl::Status status;
  try {
    const InTransaction mark;
    if (connection == nullptr) connection = Connect(options_.connection_string);
    status = connection->RunTransaction(settings, work, &commit_sent);
  } catch (const std::exception& error) {
    info = ExplainError(error);
    status = info->ToStatus(what);
    // What the server refuses leaves a sound session behind; anything that smells of the connection does not.
    const bool sound = info->kind == ErrorKind::kConflict || info->kind == ErrorKind::kData;
    if (!sound) connection.reset();
  }
  GiveBack(std::move(connection));
  return status;
}

absl::Status Database::Transact(const std::string& what, const Work& work, const TransactOptions& options) {
  if (in_transaction) return absl::InternalError(absl::StrCat(what, ": a transaction inside a transaction"));
  const absl::Duration timeout = options.statement_timeout.value_or(options_.statement_timeout);
  std::string settings = absl::StrCat("SET LOCAL statement_timeout = ", absl::ToInt64Milliseconds(timeout));
  if (!options.durable) absl::StrAppend(&settings, "; SET LOCAL synchronous_commit = off");

  const absl::Time start = absl::Now();
  Backoff backoff({.initial = absl::Milliseconds(50), .cap = absl::Seconds(2)});
  bool in_doubt = false;  // a commit was sent, and no answer came
  while (true) {
    std::optional<ErrorInfo> info;
    bool commit_sent = false;
    absl::Status status = Try(what, settings, work, info, commit_sent);
    if (!info.has_value()) {
      Report(absl::OkStatus());
      return status;
    }
    in_doubt |= commit_sent && info->kind == ErrorKind::kConnection;
    const bool retry = absl::Now() - start < Patience(info->kind, options_);
    if (!retry) {
      if (in_doubt) {
        status = absl::UnavailableError(absl::StrCat(
            std::string(status.message()), "; whether it was committed is not known: look before repeating it"));
      }
      Report(status);
      return status;
    }
    absl::SleepFor(backoff.Next() + absl::Milliseconds(5));
  }
}

void Database::Report(const absl::Status& status) {
  const bool down = absl::IsUnavailable(status) || absl::IsUnauthenticated(status);
  std::string line;
  {
    MutexLock lock(mutex_);
    const absl::Time now = absl::Now();
    seen_ = seen_ || !down;
    if (!seen_) return;
    if (down && (!down_ || now - last_report_ >= absl::Minutes(1)) && now - last_report_ >= absl::Seconds(1)) {
      line = absl::StrCat("the database does not take our work: ", std::string(status.message()));
      last_report_ = now;
    } else if (!down && down_) {
      line = "the database is back";
    }
    down_ = down;
  }
  if (line.empty()) return;
  if (down) {
    LogError(kArea, line);
  } else {
    LogInfo(kArea, line);
  }
}

}  // namespace fleetmark::collector
