#include "agent/join/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/config/text_proto.h"
#include "common/lifecycle/directory_lock.h"
#include "common/pki/files.h"
#include "fleetmark/v1/config.pb.h"
#include "tests/support/trust/enrolling_fleet.h"

namespace fleetmark::agent {
namespace {

using test::EnrollingFleet;
using test::TempDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JoinTest : public ::testing::Test {
 protected:
  absl::StatusOr<Joined> Join(const std::string& line) { return JoinFleet({line, State(), directory_ / "config", ""}); }
  absl::StatusOr<Joined> Join() { return Join(fleet_.Invite()); }
  std::string State() const { return directory_ / "state"; }
  std::string ConfigPath() const { return directory_ / "config/agent.textproto"; }
  v1::AgentConfig Config() {
    v1::AgentConfig config;
    EXPECT_TRUE(LoadTextProto(ConfigPath(), config).ok());
    return config;
  }

  EnrollingFleet fleet_;
  const TempDirectory directory_;
};

TEST_F(JoinTest, WritesAConfigurationWithOneDefaultTarget) {
  const absl::StatusOr<Joined> joined = Join();
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->config_path, ConfigPath());
  EXPECT_FALSE(joined->config_kept);
  EXPECT_TRUE(LoadTlsMaterial(IdentityFiles(State())).ok());
  const v1::AgentConfig config = Config();
  ASSERT_EQ(config.targets_size(), 1);
  EXPECT_EQ(config.targets(0).name(), "default");
  EXPECT_TRUE(config.targets(0).is_default());
  EXPECT_EQ(config.targets(0).path(), State() + "/target");
  struct stat info {};
  ASSERT_EQ(::stat(config.targets(0).path().c_str(), &info), 0);
  EXPECT_TRUE(S_ISDIR(info.st_mode));
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  EXPECT_THAT(config.collectors(), ElementsAre("127.0.0.1:7401"));
  const std::string said = DescribeJoin(*joined);
  EXPECT_THAT(said, HasSubstr(ConfigPath()));
  EXPECT_THAT(said, HasSubstr(State() + "/target"));
  EXPECT_THAT(said, HasSubstr(joined->host_id));
}

TEST_F(JoinTest, KeepsAConfigurationAndSetsItsCollectors) {
  test::WriteFile(ConfigPath(),
                  "# mine\ntargets { name: \"ssd\" path: \"/mnt/ssd\" }  # fast\ncollectors: \"10.9.9.9:7401\"\n"
                  "  collectors: \"old:1\"\nmax_threads: 3");
  const absl::StatusOr<Joined> joined = Join();
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_TRUE(joined->config_kept);
  const v1::AgentConfig config = Config();
  EXPECT_THAT(config.collectors(), ElementsAre("127.0.0.1:7401"));
  ASSERT_EQ(config.targets_size(), 1);
  EXPECT_EQ(config.targets(0).name(), "ssd");
  EXPECT_EQ(config.max_threads(), 3U);
  EXPECT_THAT(ReadSmallFile(ConfigPath()).value(),
              HasSubstr("# mine\ntargets { name: \"ssd\" path: \"/mnt/ssd\" }  # fast\n"));
  EXPECT_FALSE(FileExists(State() + "/target")) << "no target was asked for";
}

TEST_F(JoinTest, ABrokenConfigurationCostsNoInvite) {
  test::WriteFile(ConfigPath(), "targets { name: ");
  const std::string line = fleet_.Invite();
  const absl::Status status = Join(line).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(ConfigPath()));
  test::WriteFile(ConfigPath(), "");
  EXPECT_TRUE(Join(line).ok()) << "the line is still good";
}

TEST_F(JoinTest, ACollectorsListThatCannotBeChangedIsToldOf) {
  test::WriteFile(ConfigPath(), "collectors: [\"a:1\",\n  \"b:2\"]\n");
  const absl::Status status = Join().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("set its collectors by hand to 127.0.0.1:7401"));
  EXPECT_THAT(ReadSmallFile(ConfigPath()).value(), HasSubstr("\"b:2\""));
}

// C-125
TEST_F(JoinTest, ACopiedImageForgetsWhoItWasAndJoinsAnew) {
  const absl::StatusOr<Joined> original = Join();
  ASSERT_TRUE(original.ok());
  test::WriteFile(State() + "/spool.db", "records of the original");
  EXPECT_TRUE(absl::IsAlreadyExists(Join().status()));
  ASSERT_TRUE(ResetIdentity(State()).ok());
  EXPECT_FALSE(FileExists(IdentityFiles(State()).key_file));
  EXPECT_FALSE(FileExists(State() + "/spool.db")) << "what the original measured is the original's to send";
  const absl::StatusOr<Joined> copy = Join();
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_NE(copy->host_id, original->host_id);
  EXPECT_TRUE(copy->config_kept);
}

TEST_F(JoinTest, ResetWaitsForTheAgentToStop) {
  ASSERT_TRUE(Join().ok());
  {
    const absl::StatusOr<DirectoryLock> agent = DirectoryLock::Acquire(State());
    ASSERT_TRUE(agent.ok());
    const absl::Status status = ResetIdentity(State());
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("stop the agent first"));
    EXPECT_TRUE(FileExists(IdentityFiles(State()).key_file));
  }
  EXPECT_TRUE(ResetIdentity(State()).ok());
  EXPECT_TRUE(absl::IsNotFound(ResetIdentity(State())));
}

TEST_F(JoinTest, AWrongLineWritesNothing) {
  EXPECT_TRUE(absl::IsInvalidArgument(Join("fm1/x").status()));
  EXPECT_FALSE(FileExists(ConfigPath()));
  EXPECT_FALSE(FileExists(IdentityFiles(State()).key_file));
}

}  // namespace
}  // namespace fleetmark::agent
