#include "agent/worker/process_identity.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fleetmark::agent {
namespace {

pid_t StartSleep() {
  char name[] = "sleep";
  char seconds[] = "1000";
  char* arguments[] = {name, seconds, nullptr};
  char* environment[] = {nullptr};
  pid_t pid = 0;
  EXPECT_EQ(posix_spawnp(&pid, "sleep", nullptr, nullptr, arguments, environment), 0);
  return pid;
}

TEST(ProcessIdentityTest, AliveUntilItEndsAndNotAsAZombie) {
  const pid_t pid = StartSleep();
  const ProcessIdentity identity = IdentityOf(pid);
  EXPECT_TRUE(IsAlive(identity));
  ::kill(pid, SIGKILL);
  siginfo_t info = {};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(ProcessState(pid), 'Z');
  EXPECT_FALSE(IsAlive(identity));
  ::waitpid(pid, nullptr, 0);
  EXPECT_FALSE(IsAlive(identity));
  EXPECT_EQ(ProcessState(pid), '\0');
}

// A process id that was given to somebody else is not taken for the process it once was.
TEST(ProcessIdentityTest, TheSamePidIsNotEnough) {
  ProcessIdentity identity = IdentityOf(::getpid());
  EXPECT_TRUE(IsAlive(identity));
  --identity.start_ticks;
  EXPECT_FALSE(IsAlive(identity));
  identity = IdentityOf(::getpid());
  identity.boot_id = "another boot";
  EXPECT_FALSE(IsAlive(identity));
  EXPECT_FALSE(IsAlive({}));
}

}  // namespace
}  // namespace fleetmark::agent
