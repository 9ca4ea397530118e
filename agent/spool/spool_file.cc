// The part of SqliteSpool that opens the file: schema, damage, the mirror in memory.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/spool/salvage.h"
#include "agent/spool/sqlite_spool.h"

namespace fleetmark::agent {
namespace {

constexpr int kSchemaVersion = 1;
constexpr char kSalvageSuffix[] = ".salvage";

// The exclusive lock keeps a second process out and the log's index in memory instead of a shared file. The settings
// that make a file (auto_vacuum) come before the first table.
constexpr char kSettings[] =
    "PRAGMA auto_vacuum=INCREMENTAL;"
    "PRAGMA locking_mode=EXCLUSIVE;"
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA fullfsync=1;"
    "PRAGMA journal_size_limit=1048576;"
    "PRAGMA cache_size=-512;"
    "PRAGMA temp_store=MEMORY;";

constexpr char kSchema[] =
    "CREATE TABLE task(arrival INTEGER PRIMARY KEY, task_id INTEGER NOT NULL, attempt INTEGER NOT NULL,"
    " state INTEGER NOT NULL, highest INTEGER NOT NULL, acknowledged INTEGER NOT NULL, start BLOB NOT NULL,"
    " UNIQUE(task_id, attempt));"
    "CREATE TABLE record(position INTEGER PRIMARY KEY, task_id INTEGER NOT NULL, attempt INTEGER NOT NULL,"
    " sequence INTEGER NOT NULL, checksum INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE(task_id, attempt, sequence));"
    "CREATE TABLE probe(number INTEGER NOT NULL);"
    "INSERT INTO probe VALUES(0);"
    "PRAGMA user_version=1;";

absl::StatusOr<int64_t> OneInteger(Database& database, const char* sql) {
  absl::StatusOr<Statement> statement = database.Prepare(sql);
  if (!statement.ok()) return statement.status();
  absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  return *row ? statement->Integer(0) : 0;
}

absl::Status QuickCheck(Database& database) {
  absl::StatusOr<Statement> check = database.Prepare("PRAGMA quick_check(1)");
  if (!check.ok()) return check.status();
  const absl::StatusOr<bool> row = check->Step();
  if (!row.ok()) return row.status();
  const std::string result(*row ? check->Bytes(0) : "no answer");
  if (result == "ok") return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("check spool ", database.path(), ": ", result));
}

}  // namespace

absl::Status SqliteSpool::OpenFile() {
  database_ = nullptr;
  absl::Status status = FinishMove();
  if (status.ok()) status = PrepareSchema(options_.path);
  if (absl::IsDataLoss(status)) status = MoveAside(status);
  if (status.ok()) status = LoadMirror();
  if (status.ok() && !started_ && options_.interrupt_running) {
    status = InterruptRunning();
    started_ = status.ok();
  }
  if (!status.ok()) database_ = nullptr;
  return status;
}

absl::Status SqliteSpool::PrepareSchema(const std::string& path) {
  absl::StatusOr<std::unique_ptr<Database>> opened = Database::Open(path);
  if (!opened.ok()) return opened.status();
  database_ = *std::move(opened);
  absl::Status status = database_->Execute(kSettings);
  if (!status.ok()) return status;
  (void)::chmod(path.c_str(), 0600);

  const absl::StatusOr<int64_t> version = OneInteger(*database_, "PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version > kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "open spool ", path, ": written by a newer fleetmark-agent (format ", *version, ", this one knows ",
        kSchemaVersion, "); install the newer agent again or name another directory with --state-dir"));
  }
  if (*version == kSchemaVersion) return QuickCheck(*database_);
  absl::StatusOr<Transaction> transaction = Transaction::Begin(*database_);
  if (!transaction.ok()) return transaction.status();
  status = database_->Execute(kSchema);
  return status.ok() ? transaction->Commit() : status;
}

// At every moment either the damaged file with its log is in place, or a complete salvage is: a crash loses nothing
// that could be read. FinishMove goes on from wherever it was.
absl::Status SqliteSpool::MoveAside(const absl::Status& damage) {
  const auto failed = [&](const std::string& what, const char* why) {
    return absl::UnavailableError(absl::StrCat(std::string(damage.message()), "; ", what, ": ", why));
  };
  database_ = nullptr;
  const std::string salvage = options_.path + kSalvageSuffix;
  absl::Status status = PrepareSchema(salvage);
  if (!status.ok()) return status;
  absl::StatusOr<Transaction> transaction = Transaction::Begin(*database_);
  if (!transaction.ok()) return transaction.status();
  const Salvaged saved = Salvage(options_.path, *database_);
  status = transaction->Commit();
  if (!status.ok()) return status;
  database_ = nullptr;  // its log goes into the file
  std::error_code error;
  if (std::filesystem::exists(salvage + "-wal", error)) return failed("closing " + salvage, "its log is still there");

  const std::filesystem::path path(options_.path);
  const std::string prefix = path.filename().string() + ".damaged-";
  // One damaged file is kept for a person to look at, not a growing heap of them.
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), error)) {
    if (entry.path().filename().string().rfind(prefix, 0) == 0) std::filesystem::remove(entry.path(), error);
  }
  const std::string aside = absl::StrCat(options_.path, ".damaged-", absl::ToUnixSeconds(absl::Now()));
  for (const char* suffix : {"", "-wal"}) {
    const std::string from = options_.path + suffix;
    if (std::rename(from.c_str(), (aside + suffix).c_str()) != 0 && errno != ENOENT) {
      return failed("moving it aside", std::strerror(errno));
    }
  }
  status = FinishMove();
  if (status.ok()) status = PrepareSchema(options_.path);
  if (!status.ok()) return status;
  messages_.push_back(absl::StrCat(std::string(damage.message()), "; moved to ", aside, ", of which ", saved.tasks,
                                   " tasks and ", saved.records, " records were readable and are kept"));
  return absl::OkStatus();
}

absl::Status SqliteSpool::FinishMove() {
  const std::string salvage = options_.path + kSalvageSuffix;
  std::error_code error;
  if (!std::filesystem::exists(salvage, error)) return absl::OkStatus();
  // Beside the file it was to replace: not known to be complete, and made again.
  const bool is_complete = !std::filesystem::exists(options_.path, error);
  const std::string& old = is_complete ? options_.path : salvage;  // a log without its file must not meet another one
  for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(old + suffix, error);
  if ((is_complete ? std::rename(salvage.c_str(), options_.path.c_str()) : std::remove(salvage.c_str())) != 0) {
    return absl::UnavailableError(absl::StrCat("put ", salvage, " in place: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status SqliteSpool::LoadMirror() {
  rows_.clear();
  absl::StatusOr<Statement> tasks =
      database_->Prepare("SELECT arrival, task_id, attempt, state, highest, acknowledged, start FROM task");
  if (!tasks.ok()) return tasks.status();
  while (true) {
    const absl::StatusOr<bool> more = tasks->Step();
    if (!more.ok()) return more.status();
    if (!*more) break;
    Row row;
    row.arrival = tasks->Integer(0);
    const Key key{tasks->Integer(1), static_cast<uint32_t>(tasks->Integer(2))};
    const std::string_view start = tasks->Bytes(6);
    (void)row.task.start.ParseFromArray(start.data(), static_cast<int>(start.size()));
    row.task.start.set_task_id(key.first);
    row.task.start.set_attempt(key.second);
    row.task.state = static_cast<v1::UnfinishedState>(tasks->Integer(3));
    row.task.highest_sequence = static_cast<uint64_t>(tasks->Integer(4));
    row.task.acknowledged_sequence = static_cast<uint64_t>(tasks->Integer(5));
    last_arrival_ = std::max(last_arrival_, row.arrival);
    rows_[key] = std::move(row);
  }

  absl::StatusOr<Statement> sums = database_->Prepare(
      "SELECT task_id, attempt, count(*), sum(length(body)), max(sequence), max(position), min(sequence) FROM record "
      "GROUP BY task_id, attempt");
  if (!sums.ok()) return sums.status();
  while (true) {
    const absl::StatusOr<bool> more = sums->Step();
    if (!more.ok()) return more.status();
    if (!*more) break;
    const Key key{sums->Integer(0), static_cast<uint32_t>(sums->Integer(1))};
    const auto highest = static_cast<uint64_t>(sums->Integer(4));
    auto [found, is_new] = rows_.try_emplace(key);
    Row& row = found->second;
    if (is_new) {
      // Its task was lost with a damaged page; the records still go to the collector.
      row.arrival = ++last_arrival_;
      row.task.start.set_task_id(key.first);
      row.task.start.set_attempt(key.second);
      row.task.state = v1::UNFINISHED_STATE_FINISHED;
      row.task.acknowledged_sequence = static_cast<uint64_t>(sums->Integer(6)) - 1;
      absl::StatusOr<Statement> insert = database_->Prepare(
          "INSERT INTO task(arrival, task_id, attempt, state, highest, acknowledged, start) VALUES(?, ?, ?, ?, ?, ?, "
          "x'')");
      if (!insert.ok()) return insert.status();
      const absl::Status inserted = insert->Bind(row.arrival)
                                        .Bind(key.first)
                                        .Bind(int64_t{key.second})
                                        .Bind(int64_t{row.task.state})
                                        .Bind(static_cast<int64_t>(highest))
                                        .Bind(static_cast<int64_t>(row.task.acknowledged_sequence))
                                        .Run();
      if (!inserted.ok()) return inserted;
    }
    row.records = static_cast<uint64_t>(sums->Integer(2));
    row.bytes = static_cast<uint64_t>(sums->Integer(3));
    row.task.highest_sequence = std::max(row.task.highest_sequence, highest);
    last_position_ = std::max(last_position_, static_cast<uint64_t>(sums->Integer(5)));
  }

  for (auto& [key, row] : rows_) {
    if (row.records >= row.task.highest_sequence - row.task.acknowledged_sequence) continue;
    const absl::Status filled = FillGaps(key, row);
    if (!filled.ok()) return filled;
  }
  return absl::OkStatus();
}

// Rows with an empty body and a checksum that cannot fit it: Read turns them into what stands for a lost record.
absl::Status SqliteSpool::FillGaps(const Key& key, Row& row) {
  absl::StatusOr<Transaction> transaction = Transaction::Begin(*database_);
  if (!transaction.ok()) return transaction.status();
  uint64_t filled = 0;
  uint64_t position = last_position_;
  for (uint64_t sequence = row.task.acknowledged_sequence + 1; sequence <= row.task.highest_sequence; ++sequence) {
    absl::StatusOr<Statement> insert = database_->Prepare(
        "INSERT INTO record(position, task_id, attempt, sequence, checksum, body) SELECT ?1, ?2, ?3, ?4, 0, x'' "
        "WHERE NOT EXISTS(SELECT 1 FROM record WHERE task_id=?2 AND attempt=?3 AND sequence=?4) RETURNING 1");
    if (!insert.ok()) return insert.status();
    const absl::StatusOr<bool> inserted = insert->Bind(static_cast<int64_t>(position + 1))
                                              .Bind(key.first)
                                              .Bind(int64_t{key.second})
                                              .Bind(static_cast<int64_t>(sequence))
                                              .Step();
    if (!inserted.ok()) return inserted.status();
    if (*inserted) {
      ++position;
      ++filled;
    }
  }
  const absl::Status status = transaction->Commit();
  if (!status.ok()) return status;
  last_position_ = position;
  row.records += filled;
  messages_.push_back(absl::StrCat("spool ", options_.path, ": ", filled, " records of task ", key.first, " attempt ",
                                   key.second, " are lost; the collector is told"));
  return absl::OkStatus();
}

absl::Status SqliteSpool::InterruptRunning() {
  bool any = false;
  for (const auto& [key, row] : rows_) any = any || row.task.state == v1::UNFINISHED_STATE_RUNNING;
  if (!any) return absl::OkStatus();
  absl::StatusOr<Statement> update = database_->Prepare("UPDATE task SET state=? WHERE state=?");
  if (!update.ok()) return update.status();
  const absl::Status status =
      update->Bind(int64_t{v1::UNFINISHED_STATE_INTERRUPTED}).Bind(int64_t{v1::UNFINISHED_STATE_RUNNING}).Run();
  if (!status.ok()) return status;
  for (auto& [key, row] : rows_) {
    if (row.task.state != v1::UNFINISHED_STATE_RUNNING) continue;
    row.task.state = v1::UNFINISHED_STATE_INTERRUPTED;
    messages_.push_back(absl::StrCat("task ", key.first, " attempt ", key.second,
                                     " was running when the agent ended: interrupted, recovered up to sequence ",
                                     row.task.highest_sequence));
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::agent
