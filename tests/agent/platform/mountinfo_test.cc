#include "agent/platform/linux/mountinfo.h"

#include <gtest/gtest.h>

namespace fleetmark::agent {
namespace {

// C-066
TEST(MountinfoTest, ReadsAnyNumberOfOptionalFieldsAndSkipsACutLine) {
  const MountTable table = ParseMountinfo(
      "36 25 0:32 / /sys/fs/cgroup rw,nosuid,nodev - cgroup2 cgroup2 rw\n"
      "41 25 8:17 /srv /data rw,relatime shared:7 master:3 propagate_from:2 - ext4 /dev/sdb1 rw\n"
      "812 811 0:91 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
      "58 25 0:51 / /mnt/x rw,relatime shared\n");
  ASSERT_EQ(table.mounts.size(), 3u);
  EXPECT_EQ(table.bad_lines, 1u);
  EXPECT_EQ(table.mounts[0].file_system, "cgroup2");
  EXPECT_EQ(table.mounts[1].major, 8u);
  EXPECT_EQ(table.mounts[1].minor, 17u);
  EXPECT_EQ(table.mounts[1].root, "/srv");
  EXPECT_EQ(table.mounts[1].mount_point, "/data");
  EXPECT_EQ(table.mounts[1].file_system, "ext4");
  EXPECT_EQ(table.mounts[1].source, "/dev/sdb1");
  EXPECT_EQ(table.mounts[2].super_options, "rw");
}

// C-065: the bytes stay as they are; they are cleaned where they enter a message.
TEST(MountinfoTest, UndoesEscapesAndKeepsBytesThatAreNotText) {
  const MountTable table = ParseMountinfo("1 0 8:1 / /mnt/a\\040b\\134c\xe9 rw - ext4 /dev/sda1 rw\n");
  ASSERT_EQ(table.mounts.size(), 1u);
  EXPECT_EQ(table.mounts[0].mount_point, "/mnt/a b\\c\xe9");
}

TEST(MountinfoTest, FindsTheTopmostMountOfAPath) {
  const MountTable table = ParseMountinfo(
      "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "2 1 8:2 / /data rw - ext4 /dev/sda2 rw\n"
      "3 2 8:3 / /data rw - xfs /dev/sda3 rw\n"
      "4 1 8:4 / /database rw - ext4 /dev/sda4 rw\n");
  EXPECT_EQ(MountOfPath(table, "/data/x")->source, "/dev/sda3");
  EXPECT_EQ(MountOfPath(table, "/database")->source, "/dev/sda4");
  EXPECT_EQ(MountOfPath(table, "/dat")->source, "/dev/sda1");
  EXPECT_EQ(MountOfDevice(table, 8, 2, "/elsewhere")->mount_point, "/data");
  EXPECT_EQ(MountOfDevice(table, 9, 9, "/data"), nullptr);
  EXPECT_EQ(MountOfPath(ParseMountinfo(""), "/data"), nullptr);
}

TEST(MountinfoTest, TellsFileSystemsThatMayHang) {
  EXPECT_TRUE(IsNetworkFileSystem("nfs4"));
  EXPECT_TRUE(IsNetworkFileSystem("fuse.sshfs"));
  EXPECT_FALSE(IsNetworkFileSystem("ext4"));
  EXPECT_FALSE(IsNetworkFileSystem("fuseblk"));
}

}  // namespace
}  // namespace fleetmark::agent
