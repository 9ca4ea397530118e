#include <mutex>

#include "tests/collector/store/store_fixture.h"

namespace fleetmark::collector {
namespace {

class ListenerTest : public StoreTest {
 protected:
  void StartListening() {
    store_->Listen([this](const Notification& notification) {
      const std::lock_guard<std::mutex> lock(mutex_);
      heard_.push_back(notification);
    });
  }
  size_t Count(Notification::Kind kind, const std::string& id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    size_t count = 0;
    for (const Notification& one : heard_) count += one.kind == kind && one.id == id ? 1 : 0;
    return count;
  }
  bool Hears(Notification::Kind kind, const std::string& id, size_t times = 1) {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (Count(kind, id) < times) {
      if (absl::Now() > deadline) return false;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return true;
  }
  void Forget() {
    const std::lock_guard<std::mutex> lock(mutex_);
    heard_.clear();
  }

  std::mutex mutex_;
  std::vector<Notification> heard_;
};

TEST_F(ListenerTest, HearsWhatAnotherCollectorDoes) {
  StartListening();
  ASSERT_TRUE(Hears(Notification::Kind::kRun, ""));  // connected: look at everything
  std::unique_ptr<Store> other = OpenStore();
  std::swap(store_, other);
  const Assigned one = AssignOne();
  v1::Progress progress;
  progress.set_task_id(one.key.task);
  progress.set_attempt(1);
  ASSERT_TRUE(store_->runs().PublishProgress({{one.host, progress}}).ok());
  EXPECT_TRUE(Hears(Notification::Kind::kHost, one.host));
  EXPECT_TRUE(Hears(Notification::Kind::kTask, one.host));
  EXPECT_TRUE(Hears(Notification::Kind::kRun, absl::StrCat(one.run)));
  EXPECT_TRUE(Hears(Notification::Kind::kProgress, absl::StrCat(one.run)));
  std::swap(store_, other);
  store_->StopListening();
  store_->StopListening();
}

// C-120: the connection is cut; after the new one everything is looked at again, and there is a tick in any case.
TEST_F(ListenerTest, ComesBackAfterALostConnectionAndTicks) {
  StartListening();
  ASSERT_TRUE(Hears(Notification::Kind::kRun, ""));
  Forget();
  ASSERT_EQ(Value("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
                  " AND datname = current_database() AND pid <> pg_backend_pid()"),
            "1");
  const RunId run = AddRun({TaskOn(AddHost("mac"), "mac")});  // perhaps in the gap
  EXPECT_TRUE(Hears(Notification::Kind::kRun, ""));
  const absl::Time start = absl::Now();
  Forget();
  EXPECT_TRUE(Hears(Notification::Kind::kRun, "", 2));
  EXPECT_GE(absl::Now() - start, absl::Seconds(1));  // a tick, not a storm
  ASSERT_TRUE(store_->runs().CancelRun(run, "alice").ok());
  EXPECT_TRUE(Hears(Notification::Kind::kRun, absl::StrCat(run)));
  // C-120 (b): the listener holds no transaction.
  EXPECT_EQ(Value("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND xact_start IS NOT NULL"
                  " AND datname = current_database() AND pid <> pg_backend_pid()"),
            "0");
}

}  // namespace
}  // namespace fleetmark::collector
