#include "agent/platform/storage_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/platform/linux/block_layers.h"
#include "tests/support/machine_tree.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int64_t kExt4 = 0xEF53, kBtrfs = 0x9123683E, kOverlay = 0x794C7630, kTmpfs = 0x01021994;

// "dm-crypt dm-0 @1"
std::vector<std::string> Names(const StorageStack& stack) {
  std::vector<std::string> names;
  for (const StackLayer& layer : stack.layers) {
    names.push_back(layer.kind + (layer.device.empty() ? "" : " " + layer.device) + " @" + std::to_string(layer.level));
  }
  return names;
}

void SetStat(const std::string& root, const std::string& device, uint64_t read_sectors, uint64_t written_sectors,
             uint64_t in_flight = 0) {
  test::WriteFile(root + "/sys/class/block/" + device + "/stat", "1 0 " + std::to_string(read_sectors) + " 0 1 0 " +
                                                                     std::to_string(written_sectors) + " 0 " +
                                                                     std::to_string(in_flight) + " 0 0\n");
}

TEST(StorageStackTest, FollowsVolumesEncryptionAndPartitionToTheDisk) {
  const test::MachineTree tree("storage-encrypted-laptop");
  const StorageStack stack = ResolveStackOf({"/srv/x", {253, 1}, kExt4}, tree.root());
  EXPECT_EQ(stack.file_system, "ext4");
  EXPECT_EQ(stack.mount_point, "/");
  EXPECT_FALSE(stack.in_memory);
  EXPECT_THAT(Names(stack),
              ElementsAre("lvm dm-1 @0", "dm-crypt dm-0 @1", "partition nvme0n1p3 @2", "disk nvme0n1 @3"));
  EXPECT_TRUE(stack.layers.back().lowest);
  EXPECT_TRUE(stack.layers.back().has_counters);
}

// In a chroot the mount may be missing: the device number still leads to the disk.
TEST(StorageStackTest, AMissingMountEntryIsANormalState) {
  const test::MachineTree tree("storage-encrypted-laptop");
  test::WriteFile(tree.root() + "/proc/self/mountinfo", "");
  const StorageStack stack = ResolveStackOf({"/srv/x", {253, 1}, kExt4}, tree.root());
  EXPECT_EQ(stack.file_system, "ext4") << "from the magic number";
  EXPECT_EQ(stack.mount_point, "");
  EXPECT_EQ(stack.layers.size(), 4u);
}

// C-061
TEST(StorageStackTest, NamesEndingInDigitsAreNotTakenForPartitions) {
  const test::MachineTree tree("storage-two-bridges");
  for (const char* disk : {"sda", "sdaa", "mmcblk0", "vda", "loop0", "zram0", "cciss!c0d0"}) {
    EXPECT_FALSE(IsPartition(disk, tree.root())) << disk;
    EXPECT_FALSE(ParentDisk(disk, tree.root())) << disk;
  }
  EXPECT_EQ(ParentDisk("mmcblk0p2", tree.root()), "mmcblk0");
  EXPECT_EQ(ParentDisk("cciss!c0d0p1", tree.root()), "cciss!c0d0");
  EXPECT_EQ(KernelNameOfSource("/dev/cciss/c0d0p1", tree.root()), "cciss!c0d0p1");
  const test::MachineTree mirror("storage-mirror");
  EXPECT_FALSE(IsPartition("md127", mirror.root()));
  EXPECT_EQ(ParentDisk("md127p1", mirror.root()), "md127");
}

TEST(StorageStackTest, MembersOfAMirrorShareALevel) {
  const test::MachineTree tree("storage-mirror");
  const StorageStack stack = ResolveStackOf({"/", {259, 9}, 0}, tree.root());
  EXPECT_EQ(stack.file_system, "xfs");
  EXPECT_THAT(Names(stack), UnorderedElementsAre("partition md127p1 @0", "md md127 @1", "partition sda1 @2",
                                                 "partition sdb1 @2", "disk sda @3", "disk sdb @3"));
}

TEST(StorageStackTest, CountsTheWorstLevelAndAddsUpMembers) {
  const test::MachineTree tree("storage-mirror");
  StackCounters counters(ResolveStackOf({"/", {259, 9}, 0}, tree.root()), tree.root());
  counters.Start();
  SetStat(tree.root(), "md127p1", 100 + 1000, 200 + 10);
  SetStat(tree.root(), "md127", 100 + 1000, 200 + 10);
  SetStat(tree.root(), "sda1", 100 + 300, 200 + 10);
  SetStat(tree.root(), "sdb1", 100 + 400, 200 + 10);
  SetStat(tree.root(), "sda", 100 + 300, 200 + 10);
  SetStat(tree.root(), "sdb", 100 + 450, 200 + 10, 1);
  EXPECT_EQ(counters.ReadBytes(), 700u * 512) << "the mirror hid 300 sectors from its members";
  EXPECT_EQ(counters.WrittenBytes(), 10u * 512) << "twice as much below is not less";
  EXPECT_EQ(counters.TopReadBytes(), 1000u * 512);
  EXPECT_FALSE(counters.Idle());
  SetStat(tree.root(), "sdb", 0, 0);
  EXPECT_EQ(counters.ReadBytes(), 700u * 512) << "a counter that went backwards tells nothing";
}

// A volume over a partition and a whole disk: the disk has no level below, but its share still counts there.
TEST(StorageStackTest, ADiskWithoutLowerLayersStandsForItselfAtEveryDeeperLevel) {
  const test::MachineTree tree("storage-mirror");
  StackCounters counters(ResolveStackOf({"/wide", {253, 3}, kExt4}, tree.root()), tree.root());
  counters.Start();
  SetStat(tree.root(), "dm-3", 100 + 1000, 200);
  SetStat(tree.root(), "sda2", 100 + 400, 200);
  SetStat(tree.root(), "sda", 100 + 400, 200);
  SetStat(tree.root(), "sdb", 100 + 600, 200);
  EXPECT_EQ(counters.ReadBytes(), 1000u * 512);
}

// C-068, C-069
TEST(StorageStackTest, BtrfsIsFoundThroughItsSourceAndAllOfItsDevices) {
  const test::MachineTree tree("storage-btrfs");
  // A subvolume's own device number is not the one that mountinfo shows.
  for (const char* path : {"/", "/home/me", "/var/log/x", "/srv"}) {
    const StorageStack stack = ResolveStackOf({path, {0, 57}, kBtrfs}, tree.root());
    EXPECT_EQ(stack.file_system, "btrfs") << path;
    EXPECT_THAT(Names(stack), UnorderedElementsAre("btrfs @0", "partition sda2 @1", "disk sdb @1", "disk sda @2"));
  }
  EXPECT_EQ(ResolveStackOf({"/var/log/x", {0, 57}, kBtrfs}, tree.root()).mount_point, "/var/log");
}

// C-068, C-069: /etc/hosts comes from sda2, the root does not.
TEST(StorageStackTest, AContainersRootHasNoKnownBacking) {
  const test::MachineTree tree("storage-container");
  StorageStack stack = ResolveStackOf({"/", {0, 91}, kOverlay}, tree.root());
  EXPECT_EQ(stack.file_system, "overlay");
  EXPECT_THAT(stack.layers, IsEmpty());
  EXPECT_FALSE(stack.in_memory);
  StackCounters counters(stack, tree.root());
  counters.Start();
  EXPECT_FALSE(counters.ReadBytes());
  EXPECT_FALSE(counters.WrittenBytes());
  EXPECT_FALSE(counters.TopReadBytes());
  EXPECT_TRUE(counters.Idle());

  EXPECT_THAT(Names(ResolveStackOf({"/etc/hosts", {8, 2}, kExt4}, tree.root())),
              ElementsAre("partition sda2 @0", "disk sda @1"));
  for (const auto& [path, minor] : std::vector<std::pair<std::string, unsigned>>{{"/nas", 102}, {"/pool", 103}}) {
    stack = ResolveStackOf({path, {0, minor}, 0}, tree.root());
    EXPECT_THAT(stack.layers, IsEmpty()) << path;
    EXPECT_FALSE(stack.in_memory) << path;
  }
}

TEST(StorageStackTest, TellsWhatLivesInMemory) {
  const test::MachineTree container("storage-container");
  EXPECT_TRUE(ResolveStackOf({"/run/x", {0, 99}, kTmpfs}, container.root()).in_memory);
  const StorageStack overlay = ResolveStackOf({"/work-over-memory", {0, 101}, kOverlay}, container.root());
  EXPECT_TRUE(overlay.in_memory) << "its upper layer is on tmpfs";
  EXPECT_THAT(overlay.layers, IsEmpty());

  const test::MachineTree tree("storage-two-bridges");
  const StorageStack loop = ResolveStackOf({"/mnt/image/x", {7, 0}, kExt4}, tree.root());
  EXPECT_FALSE(loop.in_memory);
  ASSERT_THAT(Names(loop), ElementsAre("loop loop0 @0"));
  EXPECT_TRUE(loop.layers[0].memory_backed);
  EXPECT_TRUE(StackCounters(loop, tree.root()).memory_backed());
  EXPECT_TRUE(ResolveBlockDevice("zram0", tree.root()).at(0).memory_backed);
}

TEST(StorageStackTest, AnUnreadableCounterIsAbsent) {
  const test::MachineTree tree("storage-mirror");
  EXPECT_FALSE(ReadDeviceCounters("nothing", tree.root()));
  EXPECT_FALSE(ReadDeviceCounters("", tree.root()));
  test::WriteFile(tree.root() + "/sys/class/block/sda/stat", "1 2 3\n");
  EXPECT_FALSE(ReadDeviceCounters("sda", tree.root()));
}

TEST(StorageStackTest, AMissingPathSaysWhich) {
  const auto stack = ResolveStorageStack("/no/such/place");
  EXPECT_EQ(stack.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(stack.status().message()), testing::HasSubstr("/no/such/place"));
}

}  // namespace
}  // namespace fleetmark::agent
