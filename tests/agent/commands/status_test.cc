#include "agent/commands/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/lifecycle/directory_lock.h"
#include "common/render/json.h"

namespace fleetmark::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class StatusTest : public ::testing::Test {
 protected:
  StatusTest() {
    std::string pattern = ::testing::TempDir() + "fleetmark-status.XXXXXX";
    places_.state_directory = mkdtemp(pattern.data());
    places_.config_path = places_.state_directory + "/agent.textproto";
  }
  ~StatusTest() override { std::filesystem::remove_all(places_.state_directory); }

  std::string Text() const { return RenderTable(StatusTable(ReadLocalStatus(places_)), {.width = 200}); }

  Places places_;
};

TEST_F(StatusTest, AMachineOfNoFleetIsToldWhatToType) {
  EXPECT_THAT(Text(), AllOf(HasSubstr("this machine has joined no fleet"), HasSubstr("agent.textproto"),
                            HasSubstr("not running; first type the line of `fleetmark hosts invite` here")));
  places_.state_directory += "/none";
  EXPECT_THAT(Text(), HasSubstr("not running; first type"));
  EXPECT_FALSE(std::filesystem::exists(places_.state_directory)) << "looking makes nothing";
}

TEST_F(StatusTest, ARunningAgentIsNamedAndItsSpoolLeftAlone) {
  const absl::StatusOr<DirectoryLock> lock = DirectoryLock::Acquire(places_.state_directory);
  ASSERT_TRUE(lock.ok());
  const v1::LocalStatus status = ReadLocalStatus(places_);
  EXPECT_TRUE(status.running());
  EXPECT_EQ(status.process(), getpid());
  EXPECT_FALSE(status.has_spool());
  EXPECT_THAT(RenderCsv(StatusCsv(status)), HasSubstr("agent,\"running, process " + std::to_string(getpid())));
}

TEST_F(StatusTest, LookingIsNotRunning) {
  EXPECT_FALSE(ReadLocalStatus(places_).running());
  EXPECT_FALSE(std::filesystem::exists(places_.state_directory + "/lock")) << "it would be the looker's";
  ASSERT_TRUE(DirectoryLock::Acquire(places_.state_directory).ok());  // an agent that has ended
  const absl::StatusOr<DirectoryLock> another = DirectoryLock::AcquireShared(places_.state_directory);
  ASSERT_TRUE(another.ok());
  const v1::LocalStatus status = ReadLocalStatus(places_);
  EXPECT_TRUE(status.has_running() && !status.running());
}

TEST_F(StatusTest, WhereNobodyCanTellItSaysSo) {
  if (geteuid() == 0) GTEST_SKIP() << "root can look everywhere";
  ASSERT_TRUE(DirectoryLock::Acquire(places_.state_directory).ok());
  chmod((places_.state_directory + "/lock").c_str(), 0);
  EXPECT_FALSE(ReadLocalStatus(places_).has_running());
  EXPECT_THAT(Text(), HasSubstr("cannot be told: open lock file"));
}

TEST_F(StatusTest, WhatIsConfiguredAndWhatWaits) {
  std::ofstream(places_.config_path) << "collectors: \"10.0.0.2:7401\"\n"
                                     << "targets { name: \"ssd\" path: \"/mnt/ssd\" is_default: true }\n";
  chmod(places_.config_path.c_str(), 0600);
  ASSERT_TRUE(DirectoryLock::Acquire(places_.state_directory).ok());  // an agent that has ended
  std::ofstream(places_.state_directory + "/spool.db");               // a new one
  const v1::LocalStatus status = ReadLocalStatus(places_);
  EXPECT_EQ(status.config_problem(), "");
  EXPECT_THAT(RenderCsv(StatusCsv(status)),
              AllOf(HasSubstr("collector,10.0.0.2:7401\r\n"), HasSubstr("target,ssd: /mnt/ssd (default)\r\n"),
                    HasSubstr("spooled records,0\r\n"), HasSubstr("spool bytes,")));
  EXPECT_THAT(Text(),
              AllOf(HasSubstr("10.0.0.2:7401"), HasSubstr("0 records, "), Not(HasSubstr("configuration problem"))));
}

TEST_F(StatusTest, ABrokenConfigurationIsSaid) {
  std::ofstream(places_.config_path) << "max_bytes: \"lots\"\n";
  EXPECT_THAT(ReadLocalStatus(places_).config_problem(), HasSubstr("max_bytes"));
  EXPECT_THAT(Text(), HasSubstr("configuration problem"));
}

}  // namespace
}  // namespace fleetmark::agent
