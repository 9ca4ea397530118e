#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "agent/executor/host_lock.h"
#include "agent/worker/framing.h"
#include "agent/worker/manifest.h"
#include "agent/worker/scratch.h"
#include "agent/worker/worker.h"
#include "tests/agent/executor/harness.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SweepScratchTest : public ExecutorFixture {
 protected:
  void SetUp() override {
    ExecutorFixture::SetUp();
    std::filesystem::create_directory(root_ + "/state/manifests");
  }

  // A manifest as a worker with this identity would have left it, for a directory that is there.
  v1::ScratchManifest Manifest(const std::string& name, const ProcessIdentity& process) const {
    v1::ScratchManifest manifest;
    manifest.set_target_path(root_ + "/target");
    struct stat info = {};
    ::stat((root_ + "/target").c_str(), &info);
    manifest.set_target_device(info.st_dev);
    manifest.set_target_inode(info.st_ino);
    manifest.set_directory_name(name);
    ::stat((root_ + "/target/" + name).c_str(), &info);
    manifest.set_directory_device(info.st_dev);
    manifest.set_directory_inode(info.st_ino);
    manifest.set_pid(process.pid);
    manifest.set_process_start_ticks(process.start_ticks);
    manifest.set_boot_id(process.boot_id);
    return manifest;
  }
  static ProcessIdentity DeadProcess() {
    ProcessIdentity identity = IdentityOf(::getpid());
    identity.start_ticks += 1;  // the same pid, but another process had it
    return identity;
  }
  std::string MakeScratch(const std::string& name) const {
    std::filesystem::create_directories(root_ + "/target/" + name + "/deeper");
    std::ofstream(root_ + "/target/" + name + "/deeper/data.bin") << std::string(100'000, 'x');
    return name;
  }
  void Note(const std::string& file, const v1::ScratchManifest& manifest) const {
    ASSERT_TRUE(WriteManifest(root_ + "/state/manifests/" + file, manifest).ok());
  }
  std::vector<std::string> Sweep() const { return SweepScratch(root_ + "/state"); }
};

// C-092: exactly what the manifest names; a file of the user stays, whatever it is called.
TEST_F(SweepScratchTest, RemovesWhatADeadWorkerLeft) {
  Note("1-1.manifest", Manifest(MakeScratch("fleetmark-1-1.scratch"), DeadProcess()));
  std::ofstream(root_ + "/target/fleetmark-notes.bin") << "mine";
  std::filesystem::create_directory(root_ + "/target/fleetmark-9-1.scratch");
  const std::vector<std::string> removed = Sweep();
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_THAT(removed[0], HasSubstr("fleetmark-1-1.scratch"));
  EXPECT_THAT(removed[0], HasSubstr("reclaimed"));
  EXPECT_THAT(Entries(root_ + "/target"),
              ::testing::UnorderedElementsAre("fleetmark-notes.bin", "fleetmark-9-1.scratch"));
  EXPECT_THAT(Sweep(), IsEmpty());
  std::filesystem::remove_all(root_ + "/target/fleetmark-notes.bin");
  std::filesystem::remove_all(root_ + "/target/fleetmark-9-1.scratch");
}

TEST_F(SweepScratchTest, LeavesALiveWorkerAlone) {
  Note("1-1.manifest", Manifest(MakeScratch("fleetmark-1-1.scratch"), IdentityOf(::getpid())));
  EXPECT_THAT(Sweep(), IsEmpty());
  EXPECT_THAT(Entries(root_ + "/target"), ElementsAre("fleetmark-1-1.scratch"));
  EXPECT_THAT(Entries(root_ + "/state/manifests"), ElementsAre("1-1.manifest"));
  leftovers_expected_ = true;
}

// C-177: neither another directory of that name nor what a link points to is touched.
TEST_F(SweepScratchTest, LeavesAnotherDirectoryOfThatNameAlone) {
  const std::string name = MakeScratch("fleetmark-1-1.scratch");
  Note("1-1.manifest", Manifest(name, DeadProcess()));
  std::filesystem::rename(root_ + "/target/" + name, root_ + "/moved");
  MakeScratch(name);
  EXPECT_THAT(Sweep(), IsEmpty());
  EXPECT_THAT(Entries(root_ + "/target"), ElementsAre(name));

  std::filesystem::remove_all(root_ + "/target/" + name);
  std::filesystem::create_directory_symlink(root_ + "/moved", root_ + "/target/" + name);
  Note("1-1.manifest", Manifest(name, DeadProcess()));  // stat follows the link: the inode is that of /moved
  EXPECT_THAT(Sweep(), IsEmpty());
  EXPECT_THAT(Entries(root_ + "/moved"), ElementsAre("deeper"));
  std::filesystem::remove(root_ + "/target/" + name);
}

TEST_F(SweepScratchTest, WithoutAnInodeOnlyAnEmptyDirectoryGoes) {
  v1::ScratchManifest manifest = Manifest(MakeScratch("fleetmark-1-1.scratch"), DeadProcess());
  manifest.clear_directory_device();
  manifest.clear_directory_inode();
  Note("1-1.manifest", manifest);
  EXPECT_THAT(Sweep(), IsEmpty());
  EXPECT_THAT(Entries(root_ + "/target"), ElementsAre("fleetmark-1-1.scratch"));
  std::filesystem::remove_all(root_ + "/target/fleetmark-1-1.scratch/deeper");
  EXPECT_EQ(Sweep().size(), 1u);
}

TEST_F(SweepScratchTest, KeepsTheManifestWhileTheTargetIsAway) {
  Note("1-1.manifest", Manifest(MakeScratch("fleetmark-1-1.scratch"), DeadProcess()));
  std::filesystem::rename(root_ + "/target", root_ + "/unmounted");
  std::filesystem::create_directory(root_ + "/target");
  EXPECT_THAT(Sweep(), IsEmpty());
  EXPECT_THAT(Entries(root_ + "/state/manifests"), ElementsAre("1-1.manifest"));
  std::filesystem::remove(root_ + "/target");
  EXPECT_THAT(Sweep(), IsEmpty());
  std::filesystem::rename(root_ + "/unmounted", root_ + "/target");
  EXPECT_EQ(Sweep().size(), 1u);
}

TEST_F(SweepScratchTest, AManifestThatCannotBeReadStays) {
  std::ofstream(root_ + "/state/manifests/1-1.manifest") << "target_path: \"/etc";
  EXPECT_THAT(Sweep(), IsEmpty());
  EXPECT_THAT(Entries(root_ + "/state/manifests"), ElementsAre("1-1.manifest"));
  leftovers_expected_ = true;
}

// The worker's half of C-092: the executor dies with SIGKILL, the worker notices, cleans up and goes within a second.
TEST_F(SweepScratchTest, AnOrphanedWorkerCleansUpAndEnds) {
  for (const char* mode : {"wait", "deaf"}) {
    int control[2];
    int events[2];
    ASSERT_EQ(::pipe2(control, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(events, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const int give_control = ::fcntl(control[0], F_DUPFD_CLOEXEC, 20);
    const int give_events = ::fcntl(events[1], F_DUPFD_CLOEXEC, 20);
    posix_spawn_file_actions_adddup2(&actions, give_control, kWorkerControlFd);
    posix_spawn_file_actions_adddup2(&actions, give_events, kWorkerEventFd);
    char name[] = "worker";
    char* arguments[] = {name, nullptr};
    pid_t pid = 0;
    ASSERT_EQ(posix_spawn(&pid, FLEETMARK_TEST_WORKER, &actions, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    for (const int fd : {control[0], events[1], give_control, give_events}) ::close(fd);

    v1::WorkerControl order;
    v1::WorkerStart& start = *order.mutable_start();
    start.set_workload("test.disk");
    (*start.mutable_parameters())["mode"].set_text(mode);
    start.set_target_path(root_ + "/target");
    start.set_scratch_directory_name("fleetmark-1-1.scratch");
    start.set_manifest_path(root_ + "/state/manifests/1-1.manifest");
    start.set_deadline_seconds(1000);
    start.set_min_free_bytes(0);
    ASSERT_TRUE(WriteFrame(control[1], order).ok());
    FrameReader reader;
    v1::WorkerEvent event;
    while (event.progress().step() != "waiting") {
      const absl::StatusOr<bool> complete = reader.Next(event);
      ASSERT_TRUE(complete.ok());
      if (!*complete) {
        ASSERT_TRUE(ReadInto(events[0], reader).value_or(false));
      }
    }
    EXPECT_THAT(Entries(root_ + "/target"), ElementsAre("fleetmark-1-1.scratch"));
    EXPECT_THAT(Entries(root_ + "/state/manifests"), ElementsAre("1-1.manifest"));

    const auto begin = std::chrono::steady_clock::now();
    ::close(control[1]);  // as the kernel does when the executor dies
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1)) << mode;
    EXPECT_THAT(Entries(root_ + "/target"), IsEmpty()) << mode;
    EXPECT_THAT(Entries(root_ + "/state/manifests"), IsEmpty()) << mode;
    ::close(events[0]);
  }
}

// C-104
TEST(HostLockTest, OneHolderAtATime) {
  char directory[] = "/tmp/fleetmark-lock-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  {
    HostLock first(directory);
    HostLock second(directory);
    EXPECT_TRUE(first.TryAcquire());
    EXPECT_TRUE(first.TryAcquire());
    EXPECT_FALSE(second.TryAcquire());
    first.Release();
    EXPECT_TRUE(second.TryAcquire());
    EXPECT_FALSE(first.TryAcquire());
  }
  EXPECT_EQ(::rmdir(directory), 0);  // the file is gone as well
}

}  // namespace
}  // namespace fleetmark::agent
