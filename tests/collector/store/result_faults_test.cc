// Nothing is acknowledged that is not committed, and nothing committed is stored twice, whatever happens in between.
#include <signal.h>

#include <atomic>
#include <future>

#include "tests/collector/store/commit_cutter.h"
#include "tests/collector/store/store_fixture.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;

class ResultFaultsTest : public StoreTest {
 protected:
  // `body` runs in the server when a transaction that has stored records commits: after the inserts, before the commit.
  void AtCommit(const std::string& body) const {
    Exec("CREATE OR REPLACE FUNCTION public.at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body +
         " RETURN NULL; END $$");
    Exec(
        "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON fleetmark.record DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION public.at_commit()");
  }
  void AtInsert(const std::string& body) const {
    Exec("CREATE OR REPLACE FUNCTION public.at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body +
         " RETURN NULL; END $$");
    Exec("CREATE TRIGGER at_commit AFTER INSERT ON fleetmark.record FOR EACH ROW EXECUTE FUNCTION public.at_commit()");
  }
  void CommitAgain() const { Exec("DROP TRIGGER at_commit ON fleetmark.record"); }
  std::string Records() const { return Value("SELECT count(*) FROM fleetmark.record"); }
};

// C-115: the session dies between insert and commit, again and again: no acknowledgement, no row; later all is well.
TEST_F(ResultFaultsTest, NoAckWhenTheServerDiesBeforeTheCommit) {
  const Assigned one = AssignOne();
  const std::vector<v1::Record> records = WholeTask(one.key, {1, 2});
  AtCommit("PERFORM pg_terminate_backend(pg_backend_pid());");
  const auto stored = store_->results().StoreRecords(one.host, records);
  EXPECT_EQ(stored.status().code(), absl::StatusCode::kUnavailable) << stored.status();
  EXPECT_EQ(Records(), "0");
  EXPECT_EQ(TaskStateOf(one.run, one.key.task), v1::TASK_STATE_ASSIGNED);
  CommitAgain();
  const StoredRecords again = StoreAll(one.host, records);
  EXPECT_EQ(Acked(again, one.key), 4U);
  EXPECT_EQ(again.duplicates, 0U);
}

// C-117, C-122: a statement hangs, or the disk is full at the commit.
TEST_F(ResultFaultsTest, NoAckWhenAStatementHangsOrTheCommitFindsTheDiskFull) {
  const Assigned one = AssignOne();
  const std::vector<v1::Record> records = {Started(one.key)};
  DatabaseOptions options;
  options.dsn = dsn_;
  options.statement_timeout = absl::Milliseconds(300);
  const auto impatient = Store::Open(options);
  ASSERT_TRUE(impatient.ok()) << impatient.status();
  AtInsert("PERFORM pg_sleep(60);");
  EXPECT_EQ((*impatient)->results().StoreRecords(one.host, records).status().code(), absl::StatusCode::kUnavailable);
  CommitAgain();
  AtCommit("RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100';");
  const auto full = store_->results().StoreRecords(one.host, records);
  EXPECT_EQ(full.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Records(), "0");
  CommitAgain();
  EXPECT_EQ(Acked(StoreAll(one.host, records), one.key), 1U);
}

// PostgreSQL is killed while a batch waits for its commit.
TEST_F(ResultFaultsTest, KillingTheServerBetweenInsertAndCommitLosesAndDoublesNothing) {
  const Assigned one = AssignOne();
  const std::vector<v1::Record> records = WholeTask(one.key, {1, 2});
  AtCommit("PERFORM pg_sleep(0.5);");
  PrivatePostgres& server = fleetmark::testing::TestServer();
  const unsigned restarts = server.restarts();
  std::atomic<bool> done{false};
  std::future<absl::StatusOr<StoredRecords>> answer = std::async(std::launch::async, [&] {
    auto stored = store_->results().StoreRecords(one.host, records);
    done = true;
    return stored;
  });
  while (Value("SELECT count(*) FROM pg_stat_activity WHERE query = 'COMMIT' AND state = 'active'"
               " AND datname = current_database()") != "1") {
    absl::SleepFor(absl::Milliseconds(2));
  }
  ASSERT_EQ(kill(server.postmaster_pid(), SIGKILL), 0);
  EXPECT_FALSE(done);
  auto stored = answer.get();
  while (server.restarts() == restarts) absl::SleepFor(absl::Milliseconds(10));
  if (!stored.ok()) {
    EXPECT_EQ(stored.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(Records(), "0");
    stored = store_->results().StoreRecords(one.host, records);
  }
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(Acked(*stored, one.key), 4U);
  EXPECT_EQ(Records(), "4");
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.measurement"), "2");
  EXPECT_EQ(RunStateOf(one.run), v1::RUN_STATE_SUCCEEDED);
}

// C-116: the commit was done, its answer got lost: looked up, not repeated.
TEST_F(ResultFaultsTest, ACommitWhoseAnswerIsLostIsFoundAgain) {
  CommitCutter cutter(dsn_);
  DatabaseOptions options;
  options.dsn = cutter.dsn();
  auto behind = Store::Open(options);
  ASSERT_TRUE(behind.ok()) << behind.status();
  const HostId host = AddConnectedHost("mac");

  cutter.Arm(1);
  NewRun run;
  run.suite = "quick";
  run.created_by = "alice";
  run.tasks = {TaskOn(host, "mac")};
  const auto id = (*behind)->runs().CreateRun(run);
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.run"), "1");
  EXPECT_EQ(cutter.cuts(), 1);

  cutter.Arm(1);
  const auto start = (*behind)->runs().AssignNextTask(host, "c1");
  ASSERT_TRUE(start.ok() && start->has_value()) << start.status();
  EXPECT_EQ((*start)->attempt(), 1U);
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.attempt"), "1");
  EXPECT_EQ(cutter.cuts(), 2);

  const AttemptKey key{(*start)->task_id(), 1};
  cutter.Arm(2);
  const auto first = (*behind)->results().StoreRecords(host, WholeTask(key, {1, 2}));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(Acked(*first, key), 4U);
  EXPECT_THAT(first->changed_runs, ElementsAre(*id));
  EXPECT_EQ(Records(), "4");
  EXPECT_EQ(Value("SELECT count(*) FROM fleetmark.quarantine"), "0");
  EXPECT_EQ(RunStateOf(*id), v1::RUN_STATE_SUCCEEDED);
  EXPECT_EQ(cutter.cuts(), 4);

  cutter.Arm(1);
  const std::string token(64, 'x');
  ASSERT_TRUE(
      store_->trust()
          .AddToken(token, {v1::INVITE_KIND_HOST, "", v1::ROLE_UNSPECIFIED}, absl::Now() + absl::Hours(1), "alice")
          .ok());
  int signatures = 0;
  const auto enrolled = (*behind)->trust().Enroll(token, "pi", [&](const TokenGrant&, const std::string& host_id) {
    ++signatures;
    return absl::StatusOr<IssuedCertificate>(IssuedCertificate{"serial", host_id, "PEM", absl::Now() + absl::Hours(1)});
  });
  ASSERT_TRUE(enrolled.ok()) << enrolled.status();
  EXPECT_EQ(signatures, 1);
  EXPECT_EQ(enrolled->id, Value("SELECT id FROM fleetmark.host WHERE name = 'pi'"));
}

}  // namespace
}  // namespace fleetmark::collector
