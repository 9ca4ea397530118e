#include <gtest/gtest.h>

#include "agent/platform/machine.h"
#include "tests/support/machine_tree.h"

namespace fleetmark::agent {
namespace {

TEST(SystemTest, ReadsNameKernelAndBootId) {
  const test::MachineTree tree("old-workstation");
  std::vector<v1::UnreadFact> unread;
  const v1::OperatingSystem system = ReadOperatingSystem(tree.root(), unread);
  EXPECT_EQ(system.name(), "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(system.kernel(), "Linux 6.1.0-13-amd64");
  EXPECT_EQ(system.architecture(), "x86_64");
  EXPECT_EQ(ReadBootId(tree.root()), "3d2f7a1e-0000-4000-8000-000000000001");
  EXPECT_TRUE(unread.empty());
}

TEST(SystemTest, AMissingReleaseFileIsAReasonNotAFailure) {
  const test::MachineTree empty;
  std::vector<v1::UnreadFact> unread;
  EXPECT_EQ(ReadOperatingSystem(empty.root(), unread).name(), "");
  ASSERT_EQ(unread.size(), 1u);
  EXPECT_EQ(unread[0].fact(), "os.name");
}

// C-079: kB is 1024 bytes.
TEST(SystemTest, ReadsMemoryInBytes) {
  const test::MachineTree tree("old-workstation");
  std::vector<v1::UnreadFact> unread;
  const v1::Memory memory = ReadMemory(tree.root(), unread);
  EXPECT_EQ(memory.usable_bytes(), 49400536.0 * 1024);
  EXPECT_EQ(memory.available_bytes(), 45000000.0 * 1024);
  EXPECT_EQ(memory.swap_bytes(), 2097148.0 * 1024);
  EXPECT_FALSE(memory.has_limit_bytes());
}

// C-079
TEST(SystemTest, WithoutMemAvailableItIsEstimatedAndNeverZero) {
  EXPECT_EQ(ReadAvailableMemory(test::MachineTree("container-v1").root()),
            (1000000u + 100000 + 2000000 - 500000) * 1024ull);
  EXPECT_FALSE(ReadAvailableMemory(test::MachineTree().root()));
}

// C-077, C-109: device-tree strings end in a NUL.
TEST(SystemTest, FindsTheHypervisorOfADeviceTree) {
  test::MachineTree tree;
  test::WriteFile(tree.root() + "/proc/device-tree/hypervisor/compatible", std::string("linux,kvm\0", 10));
  EXPECT_EQ(DetectVirtualization(tree.root()), "kvm");
  test::WriteFile(tree.root() + "/.dockerenv", "");
  EXPECT_EQ(DetectVirtualization(tree.root()), "container, kvm");
}

TEST(SystemTest, ThisMachineHasAName) {
  EXPECT_FALSE(ReadHostName().empty());
  EXPECT_FALSE(ReadBootId().empty());
  EXPECT_GE(ReadUsableCpus().threads(), 1u);
  EXPECT_GE(ReadMemoryNodes(), 1u);
  ASSERT_TRUE(ReadAvailableMemory());
  EXPECT_GT(*ReadAvailableMemory(), 0u);
}

}  // namespace
}  // namespace fleetmark::agent
