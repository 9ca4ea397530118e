#include "agent/platform/linux/disk_facts.h"

#include <gtest/gtest.h>

#include "agent/platform/linux/block_layers.h"
#include "tests/support/machine_tree.h"

namespace fleetmark::agent {
namespace {

TEST(DiskFactsTest, ReadsAnNvmeDisk) {
  const test::MachineTree tree("storage-encrypted-laptop");
  const v1::Disk disk = ReadDisk("nvme0n1", tree.root());
  EXPECT_EQ(disk.model(), "Example SSD 970 PRO 512GB");
  EXPECT_EQ(disk.size_bytes(), 1000215216.0 * 512);
  EXPECT_EQ(disk.transport(), "nvme");
  EXPECT_FALSE(disk.weak_identity());
  EXPECT_FALSE(disk.is_virtual());
  ASSERT_TRUE(disk.has_rotational());
  EXPECT_FALSE(disk.rotational());
  EXPECT_EQ(disk.identity(), StableHash("disk:eui.0025385b21404bc1"));
}

// C-081
TEST(DiskFactsTest, PrefersTheWholeModelAndDropsTheVendorAta) {
  const test::MachineTree tree("storage-mirror");
  EXPECT_EQ(ReadDisk("sdb", tree.root()).model(), "ST3000DM001-9YN166");
  EXPECT_TRUE(ReadDisk("sdb", tree.root()).rotational());
  EXPECT_EQ(ReadDisk("sdb", tree.root()).transport(), "sata");
  EXPECT_EQ(ReadDisk("sda", tree.root()).model(), "Example SSD 870");

  // The page "ATA information" holds the disk's own words, with swapped bytes.
  std::string page(60 + 512, '\0');
  const std::string model = "Example SSD 870 EVO 500GB               ";
  for (size_t i = 0; i < model.size(); i += 2) {
    page[60 + 27 * 2 + i] = model[i + 1];
    page[60 + 27 * 2 + i + 1] = model[i];
  }
  test::WriteFile(BlockDirectory("sda", tree.root()) + "/device/vpd_pg89", page);
  EXPECT_EQ(ReadDisk("sda", tree.root()).model(), "Example SSD 870 EVO 500GB");
}

// C-081
TEST(DiskFactsTest, AVirtioDiskIsVirtualAndNotRotating) {
  const test::MachineTree tree("storage-two-bridges");
  const v1::Disk disk = ReadDisk("vda", tree.root());
  EXPECT_TRUE(disk.is_virtual());
  EXPECT_FALSE(disk.has_rotational());
  EXPECT_FALSE(disk.has_model());
  EXPECT_EQ(disk.transport(), "virtio");
  EXPECT_TRUE(disk.weak_identity());
}

// C-063
TEST(DiskFactsTest, DisksWithOneSerialAreToldApartByTheirPlace) {
  const test::MachineTree tree("storage-two-bridges");
  const v1::Disk first = ReadDisk("sda", tree.root());
  const v1::Disk second = ReadDisk("sdb", tree.root());
  const v1::Disk dummy = ReadDisk("sdc", tree.root());
  EXPECT_TRUE(first.weak_identity());
  EXPECT_TRUE(second.weak_identity());
  EXPECT_TRUE(dummy.weak_identity()) << "0123456789ABCDEF is no serial number";
  EXPECT_NE(first.identity(), second.identity());
  EXPECT_NE(second.identity(), dummy.identity());
  EXPECT_EQ(first.model(), "Generic External");
  EXPECT_EQ(first.transport(), "usb");
}

// C-062: the same disk under another name keeps its identity; C-063: a place keeps it over a restart, too.
TEST(DiskFactsTest, IdentityDoesNotDependOnTheKernelName) {
  test::MachineTree before, after;
  const auto plug = [](test::MachineTree& tree, const std::string& host, const std::string& name,
                       const std::string& id) {
    const std::string path = "pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/host" + host + "/target" + host + ":0:0/" +
                             host + ":0:0:0/block/" + name;
    tree.Add("= /sys/devices/" + path + "/size 5000\n" +
             (id.empty() ? "" : "= /sys/devices/" + path + "/device/wwid " + id + "\n") + "=> /sys/class/block/" +
             name + " ../../devices/" + path + "\n");
  };
  plug(before, "3", "sda", "naa.1");
  plug(after, "8", "sdd", "naa.1");
  EXPECT_EQ(ReadDisk("sda", before.root()).identity(), ReadDisk("sdd", after.root()).identity());
  plug(before, "4", "sdb", "");
  plug(after, "9", "sde", "");
  EXPECT_TRUE(ReadDisk("sdb", before.root()).weak_identity());
  EXPECT_EQ(ReadDisk("sdb", before.root()).identity(), ReadDisk("sde", after.root()).identity());
}

// C-063, C-077
TEST(DiskFactsTest, PlaceholdersAreNothing) {
  for (const char* text : {"", "   ", "0", "00000000", "...............", "0123456789ABCDEF", "To Be Filled By O.E.M.",
                           "Default string", "Not Specified", "System Product Name", "None", "0000-0000"}) {
    EXPECT_EQ(WithoutPlaceholder(text), "") << text;
  }
  EXPECT_EQ(WithoutPlaceholder("  WD  1234 \n"), "WD 1234");
  EXPECT_EQ(WithoutPlaceholder(std::string_view("SSD\0\0", 5)), "SSD");
}

TEST(DiskFactsTest, HashIsFnv1a) {
  // The published values of the empty input and of "a".
  EXPECT_EQ(StableHash(""), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(StableHash("a"), "d228cb696f1a8caf78912b704e4a8964");
}

}  // namespace
}  // namespace fleetmark::agent
