#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/platform/linux/cpuinfo.h"
#include "agent/platform/machine.h"
#include "tests/support/machine_tree.h"

namespace fleetmark::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ProcessorTest : public testing::Test {
 protected:
  v1::Processor Read(const std::string& machine) {
    const test::MachineTree tree(machine);
    unread_.clear();
    return ReadProcessor(tree.root(), unread_);
  }
  std::string ReasonFor(const std::string& fact) const {
    for (const v1::UnreadFact& entry : unread_) {
      if (entry.fact() == fact) return entry.reason();
    }
    return "";
  }
  std::vector<v1::UnreadFact> unread_;
};

// C-070
TEST_F(ProcessorTest, NamesAnArmCoreByItsPartNumber) {
  for (const char* machine : {"arm-four-cores", "arm-capital-processor"}) {
    const v1::Processor processor = Read(machine);
    EXPECT_EQ(processor.model(), "Cortex-A72") << machine;
    EXPECT_EQ(processor.online_cpus(), 4u);
    EXPECT_EQ(processor.cores(), 4u);
    EXPECT_EQ(processor.sockets(), 1u);
    EXPECT_THAT(ReasonFor("processor.cores"), HasSubstr("estimated"));
    EXPECT_THAT(processor.DebugString(), testing::Not(HasSubstr("deadbeef"))) << "a serial number is not sent";
  }
  EXPECT_EQ(Read("arm-unlisted-part").model(), "ARM 0x41/0xf7f");
}

// C-071
TEST_F(ProcessorTest, PartNumberWinsOverAGenericModelName) {
  EXPECT_EQ(Read("arm-32-bit-system").model(), "Cortex-A53");
}

// C-071
TEST_F(ProcessorTest, NamesEveryKindOfCore) {
  const v1::Processor processor = Read("arm-two-kinds");
  EXPECT_EQ(processor.model(), "4x Cortex-A55 + 4x Cortex-A76");
  EXPECT_EQ(processor.cores(), 8u);
  EXPECT_EQ(processor.sockets(), 1u) << "a package number of -1 is no package";
  EXPECT_EQ(processor.claimed_max_hz(), 2.4e9);
}

// C-072
TEST_F(ProcessorTest, CountsTheCoresOfAHybrid) {
  v1::Processor processor = Read("x86-hybrid");
  EXPECT_EQ(processor.online_cpus(), 20u);
  EXPECT_EQ(processor.cores(), 12u);
  EXPECT_EQ(processor.sockets(), 1u);
  EXPECT_THAT(processor.model(), HasSubstr("(8P + 4E cores)"));

  processor = Read("x86-hybrid-without-smt");
  EXPECT_EQ(processor.online_cpus(), 16u);
  EXPECT_EQ(processor.cores(), 16u);
  EXPECT_THAT(processor.model(), HasSubstr("(8P + 8E cores)"));
}

// C-074
TEST_F(ProcessorTest, SaysSoWhereAVirtualMachineContradictsItself) {
  v1::Processor processor = Read("vm-ambiguous-cores");
  EXPECT_EQ(processor.online_cpus(), 4u);
  EXPECT_FALSE(processor.has_cores());
  EXPECT_THAT(ReasonFor("processor.cores"), HasSubstr("contradict"));
  EXPECT_EQ(processor.sockets(), 1u);

  processor = Read("vm-eight-sockets");
  EXPECT_EQ(processor.sockets(), 8u);
  EXPECT_EQ(processor.cores(), 8u);
  EXPECT_EQ(DetectVirtualization(test::MachineTree("vm-eight-sockets").root()), "qemu");

  processor = Read("x86-two-sockets-smt-off");
  EXPECT_EQ(processor.sockets(), 2u);
  EXPECT_EQ(processor.cores(), 32u);
  EXPECT_EQ(processor.online_cpus(), 32u);
  EXPECT_DOUBLE_EQ(processor.claimed_max_hz(), 2.1e9);
  EXPECT_EQ(DetectVirtualization(test::MachineTree("x86-two-sockets-smt-off").root()), "");
}

// C-074: where sysfs knows the siblings, they decide.
TEST_F(ProcessorTest, SiblingsInSysfsDecideWhatIsAmbiguousInCpuinfo) {
  test::MachineTree tree("vm-ambiguous-cores");
  for (int cpu = 0; cpu < 4; ++cpu) {
    tree.Add("= /sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list " +
             (cpu < 2 ? "0-1" : "2-3") + "\n");
  }
  EXPECT_EQ(ReadProcessor(tree.root(), unread_).cores(), 2u);
}

// C-075
TEST_F(ProcessorTest, CpusThatAreOffAreOnlyPresent) {
  const v1::Processor processor = Read("x86-half-offline");
  EXPECT_EQ(processor.present_cpus(), 16u);
  EXPECT_EQ(processor.online_cpus(), 8u);
  EXPECT_EQ(processor.cores(), 8u);
  EXPECT_EQ(processor.usable_cpus(), 8);
  EXPECT_EQ(processor.claimed_max_hz(), 3.2e9);
}

// C-076
TEST_F(ProcessorTest, NamesBothModelsOfTwoSockets) {
  const v1::Processor processor = Read("x86-two-models");
  EXPECT_EQ(processor.model(), "1x Example Xeon E5-2640 v2 @ 2.00GHz + 1x Example Xeon E5-2650 v2 @ 2.60GHz");
  EXPECT_EQ(processor.cores(), 16u);
  EXPECT_EQ(processor.online_cpus(), 32u);
  EXPECT_EQ(processor.sockets(), 2u);
}

TEST_F(ProcessorTest, CollapsesTheBlanksOfAPaddedModel) {
  EXPECT_EQ(Read("old-workstation").model(), "Example Xeon CPU E5462 @ 2.80GHz");
}

TEST_F(ProcessorTest, ReportsTheRestWhereNothingCanBeRead) {
  const test::MachineTree empty;
  const v1::Processor processor = ReadProcessor(empty.root(), unread_);
  EXPECT_FALSE(processor.has_model());
  EXPECT_FALSE(processor.has_cores());
  EXPECT_FALSE(processor.has_online_cpus());
  EXPECT_THAT(ReasonFor("processor"), HasSubstr("/proc/cpuinfo"));
}

// C-065, C-109
TEST_F(ProcessorTest, AModelThatIsNotTextArrivesClean) {
  const std::vector<CpuinfoEntry> entries =
      ParseCpuinfo(std::string("processor\t: 0\nmodel name\t: Caf\xe9 CPU\0\0\n", 38));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].model, "Caf\xEF\xBF\xBD CPU");
}

}  // namespace
}  // namespace fleetmark::agent
