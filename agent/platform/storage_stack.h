// From a path to the layers of storage under it: file system, partitions, device-mapper, md, loop, disks.
//
// Found from st_dev through /sys/dev/block/M:m; mountinfo only where the major number is 0 (btrfs, overlay), and a
// missing mount entry is a normal state. Linux readers take the root of the file system, so that tests read
// tests/data/linux/<machine>. All functions are pure readers and may be called from any thread; a fact that could not
// be read is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fleetmark/v1/inventory.pb.h"

namespace fleetmark::agent {

struct StackLayer {
  std::string kind;            // "partition", "dm-crypt", "lvm", "md", "loop", "zram", "disk", "btrfs", "overlay"
  std::string device;          // kernel name, "vda1"; empty for file-system layers without a device
  unsigned level = 0;          // 0 is nearest to the file
  bool has_counters = false;   // /sys/class/block/<device>/stat can be read
  bool memory_backed = false;  // zram, brd, or a loop whose file lives in memory
  bool lowest = false;         // nothing is known below it: it stands for its share at every deeper level
};

struct StorageStack {
  std::string file_system;         // "ext4", from statfs' magic number when mountinfo is silent
  std::string mount_point;         // empty: unknown
  bool in_memory = false;          // the file system itself: tmpfs, ramfs, overlay on them
  std::vector<StackLayer> layers;  // top down; empty: backing unknown (network, overlay, zfs)
};

// `root` is "" for the real machine. Errors: NotFound, PermissionDenied with path and errno.
absl::StatusOr<StorageStack> ResolveStorageStack(const std::string& path, const std::string& root = "");

// Bytes moved since boot, per device of the stack (sectors x 512 of /sys/class/block/<dev>/stat).
struct DeviceCounters {
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t in_flight = 0;  // requests just now
};
std::optional<DeviceCounters> ReadDeviceCounters(const std::string& device, const std::string& root = "");

// Takes the counters of every layer at two moments; the smaller growth over layers at different levels tells how much
// really moved (a cache at any layer hides traffic from those below it). Members of one level (md, lvm) are added up.
class StackCounters {
 public:
  explicit StackCounters(const StorageStack& stack, std::string root = "");

  void Start();
  // Growth since Start of the worst level (the least bytes), nullopt where no layer has a counter.
  std::optional<uint64_t> ReadBytes() const;
  std::optional<uint64_t> WrittenBytes() const;
  // The top-most level that has counters: what the file system itself asked of storage, foreign I/O included.
  std::optional<uint64_t> TopReadBytes() const;
  bool memory_backed() const { return memory_backed_; }
  // True when no request is in flight at any layer.
  bool Idle() const;

 private:
  struct Level {
    std::vector<std::string> devices;
    std::vector<DeviceCounters> start;  // of each device
  };
  // nullopt: a device is gone, or was replaced (its counter went backwards).
  std::optional<uint64_t> Growth(const Level& level, uint64_t DeviceCounters::*counter) const;
  std::optional<uint64_t> LeastGrowth(uint64_t DeviceCounters::*counter) const;

  std::string root_;
  std::vector<Level> levels_;  // only those whose every device has counters; top down
  bool memory_backed_ = false;
};

// The facts about a target that an inventory shows: file system, space, disks, problems. Never fails: see `problem`.
// A network file system is looked at from a helper thread with a 2 s limit; a stuck path is not tried again (C-067).
v1::Target DescribeTarget(const std::string& name, const std::string& path, bool is_default);

}  // namespace fleetmark::agent
