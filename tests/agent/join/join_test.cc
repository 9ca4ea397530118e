#include "agent/join/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "agent/platform/storage_stack.h"
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
  absl::StatusOr<Joined> Join(const std::string& line, const std::string& target = "") {
    return JoinFleet({line, State(), directory_ / "config", target});
  }
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
  EXPECT_THAT(said, HasSubstr("Next: fleetmark-agent start"));
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

// C-180: whatever makes a join fail, no file and no directory stays.
TEST_F(JoinTest, AFailedJoinLeavesNothing) {
  const auto expect_nothing = [&](const std::string& line) {
    EXPECT_FALSE(Join(line).ok()) << line;
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << line;
  };
  expect_nothing("fm1/x");
  expect_nothing(fleet_.Invite(v1::INVITE_KIND_PERSON));
  const std::string line = fleet_.Invite();
  const TempDirectory other;
  ASSERT_TRUE(JoinFleet({line, other / "state", other / "config", ""}).ok());
  expect_nothing(line);
}

TEST_F(JoinTest, WhatWasThereBeforeAFailedJoinStays) {
  std::filesystem::create_directories(State());
  EXPECT_FALSE(Join(fleet_.Invite(v1::INVITE_KIND_PERSON)).ok());
  EXPECT_TRUE(std::filesystem::is_empty(State()));
  EXPECT_FALSE(FileExists(directory_ / "config"));
}

TEST_F(JoinTest, ATargetThatCannotBeMeasuredCostsNoInvite) {
  const std::string line = fleet_.Invite();
  const TempDirectory places;
  test::WriteFile(places / "file", "x");
  const auto refused = [&](const std::string& target) {
    const absl::Status status = Join(line, target).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << target;
    EXPECT_FALSE(FileExists(places / "nowhere"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("--target " + target + ": "));
    return std::string(status.message());
  };
  EXPECT_THAT(refused(places / "nowhere"), HasSubstr("No such file or directory; give an existing directory"));
  EXPECT_THAT(refused(places / "file"), HasSubstr("is not a directory; give"));
  if (DescribeTarget("m", "/dev/shm", false).in_memory()) {
    EXPECT_THAT(refused("/dev/shm"), HasSubstr("is in memory (tmpfs)"));
  }
  if (::geteuid() != 0) {
    std::filesystem::create_directory(places / "locked");
    ASSERT_EQ(::chmod((places / "locked").c_str(), 0500), 0);
    EXPECT_THAT(refused(places / "locked"), HasSubstr("not writable"));
  }
  EXPECT_TRUE(Join(line).ok()) << "the line is still good";
}

TEST_F(JoinTest, ARelativeTargetIsWrittenAsTheDirectoryItIsNow) {
  const std::string here = std::filesystem::current_path().string();
  if (DescribeTarget("here", here, false).in_memory()) GTEST_SKIP() << "the build tree is in memory";
  ASSERT_TRUE(Join(fleet_.Invite(), ".").ok());
  EXPECT_EQ(Config().targets(0).path(), std::filesystem::canonical(here).string());
}

TEST_F(JoinTest, AKeptConfigurationTakesNoTarget) {
  test::WriteFile(ConfigPath(), "");
  const std::string line = fleet_.Invite();
  const absl::Status status = Join(line, ".").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(ConfigPath()));
  EXPECT_TRUE(Join(line).ok());
}

}  // namespace
}  // namespace fleetmark::agent
