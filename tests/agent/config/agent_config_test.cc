#include "agent/config/agent_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kGood[] = R"(
targets { name: "ssd" path: "/mnt/ssd" is_default: true }
targets { name: "nas" path: "/mnt/nas" }
workloads: "disk.*"
workloads: "host.clock"
max_bytes: "20GiB"
max_duration: "90min"
max_threads: 4
min_free_bytes: "2GB"
spool_capacity: "50MiB"
)";

TEST(AgentConfigTest, EachValueHasAnEffect) {
  const absl::StatusOr<v1::AgentConfig> config = ParseAgentConfig(kGood, "agent.textproto");
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<AgentLimits> limits = LimitsOf(*config);
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(limits->max_bytes, 20.0 * (1 << 30));
  EXPECT_EQ(limits->max_duration, absl::Minutes(90));
  EXPECT_EQ(limits->max_threads, 4u);
  EXPECT_EQ(limits->min_free_bytes, 2e9);
  EXPECT_EQ(limits->spool_capacity_bytes, 50.0 * (1 << 20));
  EXPECT_TRUE(IsWorkloadAllowed(*config, "disk.profile"));
  EXPECT_TRUE(IsWorkloadAllowed(*config, "host.clock"));
  EXPECT_FALSE(IsWorkloadAllowed(*config, "memory.stream"));
  EXPECT_FALSE(IsWorkloadAllowed(*config, "host.clock2"));
  EXPECT_EQ(FindTarget(*config, "")->name(), "ssd");
  EXPECT_EQ(FindTarget(*config, "nas")->path(), "/mnt/nas");
}

TEST(AgentConfigTest, DefaultsWithoutAFile) {
  const v1::AgentConfig config;
  const absl::StatusOr<AgentLimits> limits = LimitsOf(config);
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(limits->max_duration, absl::Hours(24));
  EXPECT_EQ(limits->max_bytes, std::nullopt);
  EXPECT_EQ(limits->spool_capacity_bytes, 200.0 * (1 << 20));
  EXPECT_TRUE(IsWorkloadAllowed(config, "anything"));
  EXPECT_THAT(std::string(FindTarget(config, "").status().message()), HasSubstr("names no target"));
}

// C-107: unknown keys are named with the nearest one; durations need units; the place is given.
TEST(AgentConfigTest, UnknownKeysAreWarnedAbout) {
  std::vector<std::string> warnings;
  const absl::StatusOr<v1::AgentConfig> config =
      ParseAgentConfig("max_threads: 2\nmax_byte: \"1GiB\"\n", "agent.textproto", &warnings);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->max_threads(), 2u);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("max_bytes")));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("agent.textproto:2:")));
  EXPECT_FALSE(ParseAgentConfig("max_byte: \"1GiB\"\n", "agent.textproto", nullptr, true).ok());
}

TEST(AgentConfigTest, BadValuesAreRefusedWithTheirPlace) {
  const auto message = [](const std::string& text) {
    const absl::StatusOr<v1::AgentConfig> config = ParseAgentConfig(text, "a.textproto");
    return config.ok() ? std::string("accepted") : std::string(config.status().message());
  };
  EXPECT_THAT(message("\n  max_duration: \"10\"\n"), HasSubstr("a.textproto:2:3: max_duration: "));
  EXPECT_THAT(message("max_duration: \"0s\""), HasSubstr("longer than 0"));
  EXPECT_THAT(message("max_bytes: \"many\""), HasSubstr("a.textproto:1:1: max_bytes: "));
  EXPECT_THAT(message("spool_capacity: \"1B\""), HasSubstr("at least 1MiB"));
  EXPECT_THAT(message("targets { name: \"a\" path: \"relative\" }"), HasSubstr("must be absolute"));
  EXPECT_THAT(message("targets { path: \"/x\" }"), HasSubstr("needs a name"));
  EXPECT_THAT(message("targets { name: \"a\" path: \"/x\" }\ntargets { name: \"a\" path: \"/y\" }"),
              HasSubstr("a.textproto:2:11: a second target"));
  EXPECT_THAT(message("targets { name: \"a\" path: \"/x\" is_default: true }\n"
                      "targets { name: \"b\" path: \"/y\" is_default: true }"),
              HasSubstr("only one target"));
  EXPECT_THAT(message("targets {"), HasSubstr("a.textproto:1:"));
}

TEST(AgentConfigTest, AnUnnamedTargetIsAnsweredWithTheLineThatAllowsIt) {
  const absl::StatusOr<v1::AgentConfig> config = ParseAgentConfig(kGood, "agent.textproto");
  const std::string message(FindTarget(*config, "sdd").status().message());
  EXPECT_THAT(message, HasSubstr("targets { name: \"sdd\" path: \"/absolute/path\" }"));
  EXPECT_THAT(message, HasSubstr("did you mean \"ssd\"?"));
}

TEST(AgentConfigTest, AMissingFileIsNotFound) {
  EXPECT_EQ(LoadAgentConfig("/nonexistent/agent.textproto").status().code(), absl::StatusCode::kNotFound);
}

TEST(AgentConfigTest, ReadsTheFile) {
  char path[] = "/tmp/fleetmark-config-XXXXXX";
  const int fd = ::mkstemp(path);
  ASSERT_GE(fd, 0);
  ::close(fd);
  std::ofstream(path) << kGood;
  const absl::StatusOr<v1::AgentConfig> config = LoadAgentConfig(path);
  ::unlink(path);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->targets_size(), 2);
}

TEST(AgentConfigTest, FilesLieWhereTheUserKeepsThem) {
  if (::geteuid() == 0) {
    EXPECT_EQ(DefaultConfigPath(), "/etc/fleetmark/agent.textproto");
    EXPECT_EQ(DefaultStateDirectory(), "/var/lib/fleetmark/agent");
    return;
  }
  ::setenv("XDG_CONFIG_HOME", "/tmp/c ü", 1);
  ::setenv("XDG_STATE_HOME", "relative", 1);
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(DefaultConfigPath(), "/tmp/c ü/fleetmark/agent.textproto");
  EXPECT_EQ(DefaultStateDirectory(), "/home/somebody/.local/state/fleetmark/agent");
}

}  // namespace
}  // namespace fleetmark::agent
