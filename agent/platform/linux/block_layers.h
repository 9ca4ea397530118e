// The layers of a file system, from sysfs. Pure but for symbolic links and stat of backing files; tests give a root
// with a copy of /sys and /proc, and the device number that stat would have told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/platform/storage_stack.h"

namespace fleetmark::agent {

struct DeviceNumber {
  unsigned major = 0;
  unsigned minor = 0;
  bool operator==(const DeviceNumber&) const = default;
};

// What stat and statfs tell of a path.
struct PathFacts {
  std::string path;     // absolute, links followed
  DeviceNumber device;  // st_dev; of a block device node: st_rdev
  int64_t magic = 0;    // f_type; 0: not known
};

// Errors: NotFound, PermissionDenied, Unavailable with path and errno.
absl::StatusOr<PathFacts> ReadPathFacts(const std::string& path);

StorageStack ResolveStackOf(const PathFacts& facts, const std::string& root);

// The layers under a block device, itself the first.
std::vector<StackLayer> ResolveBlockDevice(const std::string& kernel_name, const std::string& root);

// Kernel name ("dm-3") of a device number or of a mount's source ("/dev/mapper/vg-home").
std::optional<std::string> KernelNameOfNumber(DeviceNumber number, const std::string& root);
std::optional<std::string> KernelNameOfSource(const std::string& source, const std::string& root);

std::string BlockDirectory(const std::string& kernel_name, const std::string& root);  // <root>/sys/class/block/<name>

bool IsPartition(const std::string& kernel_name, const std::string& root);
// The disk a partition belongs to; absent for what is no partition.
std::optional<std::string> ParentDisk(const std::string& kernel_name, const std::string& root);

// "ext4" for 0xEF53; "" for numbers nobody knows.
std::string FileSystemName(int64_t magic);
bool LivesInMemory(std::string_view file_system);

}  // namespace fleetmark::agent
