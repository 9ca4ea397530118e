#include "agent/commands/show.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetmark::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Render(const std::vector<Table>& tables) {
  std::string text;
  for (const Table& table : tables) text += RenderTable(table, {});
  return text;
}

TEST(InventoryTablesTest, KnownFactsAndReasonsForTheOthers) {
  v1::Inventory inventory;
  inventory.set_host_name("mac-pro\x1b[31m");
  inventory.mutable_processor()->set_usable_cpus(1.5);
  inventory.mutable_memory()->set_usable_bytes(8LL << 30);
  v1::UnreadFact& unread = *inventory.add_unread();
  unread.set_fact("processor.model");
  unread.set_reason("no /proc/cpuinfo");
  v1::Target& target = *inventory.add_targets();
  target.set_name("ssd");
  target.set_is_default(true);
  target.set_path("/mnt/ssd");
  target.set_problem("not mounted");
  target.add_stack()->set_device("vda1");
  const std::string text = Render(InventoryTables(inventory));
  EXPECT_THAT(text,
              AllOf(HasSubstr("8 GiB"), HasSubstr("1.5"), HasSubstr("processor.model is unknown: no /proc/cpuinfo"),
                    HasSubstr("ssd (default)"), HasSubstr("not mounted"), HasSubstr("vda1")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(RenderCsv(InventoryCsv(inventory)), HasSubstr("machine,memory,8589934592"));
}

TEST(InventoryTablesTest, ATargetInMemoryHasAProblem) {
  v1::Inventory inventory;
  v1::Target& target = *inventory.add_targets();
  target.set_name("fast");
  target.set_in_memory(true);
  EXPECT_THAT(Render(InventoryTables(inventory)), HasSubstr("in memory: a disk cannot be measured there"));
  EXPECT_THAT(RenderCsv(InventoryCsv(inventory)), HasSubstr("target fast,problem,in memory"));
}

TEST(WorkloadTablesTest, NamesEveryWorkloadAndParameter) {
  const std::string text = Render(WorkloadTables(WorkloadTable()));
  for (const WorkloadEntry& entry : WorkloadTable()) {
    EXPECT_THAT(text, HasSubstr(entry.descriptor.name() + "@"));
    for (const v1::ParameterDescriptor& parameter : entry.descriptor.parameters()) {
      EXPECT_THAT(text, HasSubstr(parameter.name()));
    }
  }
}

}  // namespace
}  // namespace fleetmark::agent
