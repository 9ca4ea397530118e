#include <array>
#include <utility>

#include "agent/platform/linux/block_layers.h"

namespace fleetmark::agent {

std::string FileSystemName(int64_t magic) {
  // Numbers of linux/magic.h and of file systems that are not in it.
  static constexpr std::array<std::pair<uint32_t, const char*>, 33> kNames = {{
      {0xEF53, "ext4"},          {0x58465342, "xfs"},      {0x9123683E, "btrfs"},    {0x2FC12FC1, "zfs"},
      {0xF2F52010, "f2fs"},      {0xCA451A4E, "bcachefs"}, {0x01021994, "tmpfs"},    {0x858458F6, "ramfs"},
      {0x958458F6, "hugetlbfs"}, {0x794C7630, "overlay"},  {0x61756673, "aufs"},     {0x6969, "nfs"},
      {0xFF534D42, "cifs"},      {0xFE534D42, "smb3"},     {0x01021997, "9p"},       {0x00C36400, "ceph"},
      {0x65735546, "fuse"},      {0x6A656A63, "virtiofs"}, {0x73717368, "squashfs"}, {0xE0F5E1E2, "erofs"},
      {0x4D44, "vfat"},          {0x2011BAB0, "exfat"},    {0x5346544E, "ntfs"},     {0x7366746E, "ntfs3"},
      {0x3153464A, "jfs"},       {0x52654973, "reiserfs"}, {0x482B, "hfsplus"},      {0x9660, "iso9660"},
      {0x0187, "autofs"},        {0x7461636F, "ocfs2"},    {0x01161970, "gfs2"},     {0x0BD00BD0, "lustre"},
      {0xF15F, "ecryptfs"},
  }};
  for (const auto& [number, name] : kNames) {
    if (static_cast<uint32_t>(magic) == number) return name;
  }
  return "";
}

bool LivesInMemory(std::string_view file_system) {
  return file_system == "tmpfs" || file_system == "ramfs" || file_system == "devtmpfs" || file_system == "hugetlbfs" ||
         file_system == "rootfs";
}

}  // namespace fleetmark::agent
