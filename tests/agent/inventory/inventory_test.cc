#include "agent/inventory/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/machine_tree.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

v1::AgentConfig ConfigWithTarget(const std::string& path) {
  v1::AgentConfig config;
  v1::TargetConfig& target = *config.add_targets();
  target.set_name("default");
  target.set_path(path);
  target.set_is_default(true);
  return config;
}

TEST(InventoryTest, KnowsThisMachine) {
  const test::TempDirectory directory;
  const v1::Inventory inventory = TakeInventory(ConfigWithTarget(directory.path()));
  EXPECT_GT(inventory.taken_at_unix_seconds(), 1.5e9);
  EXPECT_FALSE(inventory.boot_id().empty());
  EXPECT_FALSE(inventory.host_name().empty());
  EXPECT_THAT(inventory.os().kernel(), testing::StartsWith("Linux "));
  EXPECT_GE(inventory.processor().usable_cpus(), 0.01);
  EXPECT_GT(inventory.memory().usable_bytes(), 0);
  ASSERT_EQ(inventory.targets_size(), 1);
  EXPECT_EQ(inventory.targets(0).name(), "default");
  EXPECT_EQ(inventory.targets(0).problem(), "");
  EXPECT_THAT(inventory.agent_version(), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  // C-065: what the collector gets can be read.
  v1::Inventory copy;
  EXPECT_TRUE(copy.ParseFromString(inventory.SerializeAsString()));
}

TEST(InventoryTest, OneBadTargetDoesNotHideTheOthers) {
  const test::TempDirectory directory;
  v1::AgentConfig config = ConfigWithTarget("/no/such/place");
  *config.add_targets() = ConfigWithTarget(directory.path()).targets(0);
  const v1::Inventory inventory = TakeInventory(config);
  ASSERT_EQ(inventory.targets_size(), 2);
  EXPECT_THAT(inventory.targets(0).problem(), HasSubstr("does not exist"));
  EXPECT_EQ(inventory.targets(1).problem(), "");
}

TEST(InventoryTest, EveryFactIsOptionalAndTheReasonsAreThere) {
  const test::MachineTree empty;
  const v1::Inventory inventory = TakeInventory(v1::AgentConfig(), empty.root());
  EXPECT_FALSE(inventory.processor().has_model());
  EXPECT_FALSE(inventory.memory().has_usable_bytes());
  std::vector<std::string> facts;
  for (const v1::UnreadFact& fact : inventory.unread()) {
    facts.push_back(fact.fact());
    EXPECT_FALSE(fact.reason().empty()) << fact.fact();
  }
  EXPECT_THAT(facts, testing::IsSupersetOf({"os.name", "processor", "memory.usable_bytes"}));
}

TEST(InventoryTest, FreeSpaceAndTimeAreNoDifference) {
  const test::TempDirectory directory;
  const v1::Inventory a = TakeInventory(ConfigWithTarget(directory.path()));
  v1::Inventory b = a;
  b.set_taken_at_unix_seconds(a.taken_at_unix_seconds() + 1000);
  b.mutable_memory()->set_available_bytes(1);
  b.mutable_targets(0)->set_free_bytes(1);
  EXPECT_FALSE(DiffersInSubstance(a, b));
  b.mutable_targets(0)->set_file_system("other");
  EXPECT_TRUE(DiffersInSubstance(a, b));
  b = a;
  b.mutable_memory()->set_usable_bytes(1);
  EXPECT_TRUE(DiffersInSubstance(a, b));
}

TEST(BuildIdentityTest, NamesCompilerFlagsAndArchitecture) {
  EXPECT_THAT(BuildIdentity(),
              MatchesRegex("(clang|g)\\+\\+ [0-9]+\\.[0-9]+\\.[0-9]+ .*-O.* [a-z0-9_]+-(baseline|raised)"));
}

}  // namespace
}  // namespace fleetmark::agent
