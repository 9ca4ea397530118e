#include "agent/platform/linux/block_layers.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/platform/linux/mountinfo.h"
#include "agent/platform/linux/sysfs.h"

namespace fleetmark::agent {
namespace {

constexpr unsigned kDeepest = 16;  // loops over loops: no machine stacks more

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

absl::Status PathError(const char* call, const std::string& path) {
  const int error = errno;
  const std::string message = std::string(call) + " " + path + ": " + std::strerror(error);
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

// Collects layers; a device seen again keeps its deepest level, so that nothing is counted twice (C-061, C-069).
class LayerCollector {
 public:
  explicit LayerCollector(const std::string& root) : root_(root) {}

  void AddFileSystem(std::string kind, unsigned level) {
    StackLayer layer;
    layer.kind = std::move(kind);
    layer.level = level;
    layers_.push_back(std::move(layer));
  }
  void AddDevice(const std::string& name, unsigned level);
  // The devices below a file system. False: its backing is not known.
  bool AddBackingOf(const PathFacts& facts, unsigned level);

  // True if the last file system looked at lives in memory.
  bool in_memory() const { return in_memory_; }
  std::vector<StackLayer> Take() {
    std::stable_sort(layers_.begin(), layers_.end(),
                     [](const StackLayer& a, const StackLayer& b) { return a.level < b.level; });
    return std::move(layers_);
  }
  const MountTable& mounts() {
    if (!mounts_) mounts_ = ReadMountTable(root_);
    return *mounts_;
  }

 private:
  std::string KindOf(const std::string& name, const std::string& directory) const;
  bool AddLoopFile(const std::string& name, unsigned level);
  bool AddBtrfs(const Mount& mount, unsigned level);
  bool AddOverlay(const Mount& mount, unsigned level);

  const std::string root_;
  std::optional<MountTable> mounts_;
  std::vector<StackLayer> layers_;
  bool in_memory_ = false;
};

std::string LayerCollector::KindOf(const std::string& name, const std::string& directory) const {
  if (PathExists(directory + "/partition")) return "partition";
  if (PathExists(directory + "/dm")) {
    const std::string uuid = ReadTrimmed(directory + "/dm/uuid").value_or("");
    if (StartsWith(uuid, "CRYPT-")) return "dm-crypt";
    if (StartsWith(uuid, "LVM-")) return "lvm";
    if (StartsWith(uuid, "mpath-")) return "multipath";
    if (StartsWith(uuid, "part")) return "partition";  // kpartx: part1-mpath-...
    return "dm";
  }
  if (PathExists(directory + "/md")) return "md";
  if (StartsWith(name, "loop")) return "loop";
  if (StartsWith(name, "zram")) return "zram";
  if (StartsWith(name, "ram")) return "brd";
  if (StartsWith(name, "bcache")) return "bcache";
  return "disk";
}

void LayerCollector::AddDevice(const std::string& name, unsigned level) {
  if (level > kDeepest) return;
  const auto known =
      std::find_if(layers_.begin(), layers_.end(), [&](const StackLayer& l) { return l.device == name; });
  if (known != layers_.end() && known->level >= level) return;
  if (known != layers_.end()) layers_.erase(known);

  const std::string directory = BlockDirectory(name, root_);
  StackLayer layer;
  layer.kind = KindOf(name, directory);
  layer.device = name;
  layer.level = level;
  layer.has_counters = ReadDeviceCounters(name, root_).has_value();
  layer.memory_backed = layer.kind == "zram" || layer.kind == "brd";

  std::vector<std::string> below;
  if (const std::optional<std::string> disk = ParentDisk(name, root_)) {
    below.push_back(*disk);
  } else {
    below = ListDirectory(directory + "/slaves");
  }
  layer.lowest = below.empty();
  layers_.push_back(layer);
  for (const std::string& device : below) AddDevice(device, level + 1);

  if (layer.kind == "loop") {
    const bool outer_in_memory = std::exchange(in_memory_, false);
    const bool found = AddLoopFile(name, level + 1);
    for (StackLayer& own : layers_) {
      if (own.device != name) continue;
      own.memory_backed = in_memory_;
      own.lowest = !found;
    }
    in_memory_ = outer_in_memory;
  }
}

// The file behind a loop device, by the device's own word (which holds in every chroot) or by its path.
std::optional<PathFacts> LoopFile(const std::string& name, const std::string& root) {
  const std::optional<std::string> backing = ReadTrimmed(BlockDirectory(name, root) + "/loop/backing_file");
  if (!backing) return std::nullopt;  // nothing attached
  PathFacts facts;
  facts.path = *backing;
  if (root.empty()) {
    const int fd = open(("/dev/" + name).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
      struct loop_info64 info;
      std::memset(&info, 0, sizeof info);
      const bool asked = ioctl(fd, LOOP_GET_STATUS64, &info) == 0;
      close(fd);
      if (asked) {
        const auto device = static_cast<dev_t>(info.lo_device);
        facts.device = {gnu_dev_major(device), gnu_dev_minor(device)};
        const absl::StatusOr<PathFacts> by_path = ReadPathFacts(*backing);
        if (by_path.ok() && by_path->device == facts.device) return *by_path;
        return facts;
      }
    }
    const absl::StatusOr<PathFacts> by_path = ReadPathFacts(*backing);
    if (by_path.ok()) return *by_path;
    return std::nullopt;
  }
  const MountTable mounts = ReadMountTable(root);
  const Mount* mount = MountOfPath(mounts, *backing);
  if (mount == nullptr) return std::nullopt;
  facts.device = {mount->major, mount->minor};
  return facts;
}

bool LayerCollector::AddLoopFile(const std::string& name, unsigned level) {
  const std::optional<PathFacts> file = LoopFile(name, root_);
  return file && AddBackingOf(*file, level);
}

bool LayerCollector::AddBtrfs(const Mount& mount, unsigned level) {
  const std::optional<std::string> device = KernelNameOfSource(mount.source, root_);
  if (!device) return false;
  AddFileSystem("btrfs", level);
  // All devices of the file system that this one belongs to.
  const std::string directory = root_ + "/sys/fs/btrfs";
  for (const std::string& uuid : ListDirectory(directory)) {
    const std::vector<std::string> devices = ListDirectory(absl::StrCat(directory, "/", uuid, "/devices"));
    if (std::find(devices.begin(), devices.end(), *device) == devices.end()) continue;
    for (const std::string& member : devices) AddDevice(member, level + 1);
    return true;
  }
  AddDevice(*device, level + 1);
  return true;
}

bool LayerCollector::AddOverlay(const Mount& mount, unsigned level) {
  const std::optional<std::string> upper = MountOption(mount.super_options, "upperdir");
  if (!upper || level + 1 > kDeepest) return false;
  PathFacts facts;
  if (root_.empty()) {
    // Of another mount name space the path means nothing here, and then it is most probably absent.
    const absl::StatusOr<PathFacts> found = ReadPathFacts(*upper);
    if (!found.ok()) return false;
    facts = *found;
  } else {
    const Mount* holder = MountOfPath(mounts(), *upper);
    if (holder == nullptr || holder == &mount || holder->file_system == "overlay") return false;
    facts.path = *upper;
    facts.device = {holder->major, holder->minor};
  }
  const size_t before = layers_.size();
  AddFileSystem("overlay", level);
  if (AddBackingOf(facts, level + 1)) return true;
  layers_.resize(before);
  return false;
}

bool LayerCollector::AddBackingOf(const PathFacts& facts, unsigned level) {
  if (facts.device.major != 0) {
    const std::optional<std::string> name = KernelNameOfNumber(facts.device, root_);
    if (!name) return false;
    AddDevice(*name, level);
    return true;
  }
  // No block device number (C-068). Subvolumes of btrfs have numbers that mountinfo does not know: then by the path.
  const Mount* mount = MountOfDevice(mounts(), facts.device.major, facts.device.minor, facts.path);
  const std::string type = mount != nullptr ? mount->file_system : FileSystemName(facts.magic);
  if (mount == nullptr) {
    mount = MountOfPath(mounts(), facts.path);
    if (mount != nullptr && mount->file_system != type) mount = nullptr;
  }
  if (LivesInMemory(type)) {
    in_memory_ = true;
    return false;
  }
  if (mount == nullptr || IsNetworkFileSystem(type)) return false;
  if (type == "btrfs") return AddBtrfs(*mount, level);
  if (type == "overlay") return AddOverlay(*mount, level);
  if (!StartsWith(mount->source, "/dev/")) return false;
  const std::optional<std::string> device = KernelNameOfSource(mount->source.substr(0, mount->source.find(':')), root_);
  if (!device) return false;
  AddFileSystem(type, level);
  AddDevice(*device, level + 1);
  return true;
}

}  // namespace

std::string BlockDirectory(const std::string& kernel_name, const std::string& root) {
  return root + "/sys/class/block/" + kernel_name;
}

bool IsPartition(const std::string& kernel_name, const std::string& root) {
  return PathExists(BlockDirectory(kernel_name, root) + "/partition");
}

std::optional<std::string> ParentDisk(const std::string& kernel_name, const std::string& root) {
  if (!IsPartition(kernel_name, root)) return std::nullopt;
  const std::optional<std::string> real = RealPath(BlockDirectory(kernel_name, root));
  if (!real) return std::nullopt;
  const std::string_view path = *real;
  const std::string parent(LastComponent(path.substr(0, path.rfind('/'))));
  if (parent.empty() || !PathExists(BlockDirectory(parent, root))) return std::nullopt;
  return parent;
}

std::optional<std::string> KernelNameOfNumber(DeviceNumber number, const std::string& root) {
  const std::optional<std::string> real =
      RealPath(root + "/sys/dev/block/" + std::to_string(number.major) + ":" + std::to_string(number.minor));
  if (!real) return std::nullopt;
  return std::string(LastComponent(*real));
}

std::optional<std::string> KernelNameOfSource(const std::string& source, const std::string& root) {
  if (!StartsWith(source, "/dev/")) return std::nullopt;
  std::string name = source.substr(5);
  if (StartsWith(name, "mapper/")) {
    const std::string mapped = name.substr(7);
    for (const std::string& device : ListDirectory(root + "/sys/class/block")) {
      if (ReadTrimmed(BlockDirectory(device, root) + "/dm/name") == mapped) return device;
    }
    return std::nullopt;
  }
  std::replace(name.begin(), name.end(), '/', '!');  // cciss/c0d0p1
  if (PathExists(BlockDirectory(name, root))) return name;
  struct stat status;  // /dev/root, /dev/disk/by-uuid/..., /dev/vg/home
  if (root.empty() && stat(source.c_str(), &status) == 0 && S_ISBLK(status.st_mode)) {
    return KernelNameOfNumber({gnu_dev_major(status.st_rdev), gnu_dev_minor(status.st_rdev)}, root);
  }
  return std::nullopt;
}

absl::StatusOr<PathFacts> ReadPathFacts(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return PathError("stat", path);
  PathFacts facts;
  facts.path = RealPath(path).value_or(path);
  const dev_t device = S_ISBLK(status.st_mode) ? status.st_rdev : status.st_dev;
  facts.device = {gnu_dev_major(device), gnu_dev_minor(device)};
  struct statfs file_system;
  if (!S_ISBLK(status.st_mode) && statfs(path.c_str(), &file_system) == 0) {
    facts.magic = static_cast<int64_t>(file_system.f_type);
  }
  return facts;
}

StorageStack ResolveStackOf(const PathFacts& facts, const std::string& root) {
  StorageStack stack;
  LayerCollector collector(root);
  const MountTable& table = collector.mounts();
  const Mount* mount = MountOfDevice(table, facts.device.major, facts.device.minor, facts.path);
  if (mount == nullptr && facts.device.major == 0) {
    mount = MountOfPath(table, facts.path);
    const std::string type = FileSystemName(facts.magic);
    if (mount != nullptr && mount->file_system != type) mount = nullptr;
  }
  if (mount != nullptr) {
    stack.file_system = mount->file_system;
    if (IsPathPrefix(mount->mount_point, facts.path)) stack.mount_point = mount->mount_point;
  } else {
    stack.file_system = FileSystemName(facts.magic);
  }
  collector.AddBackingOf(facts, 0);
  stack.in_memory = collector.in_memory() || LivesInMemory(stack.file_system);
  stack.layers = collector.Take();
  return stack;
}

std::vector<StackLayer> ResolveBlockDevice(const std::string& kernel_name, const std::string& root) {
  LayerCollector collector(root);
  collector.AddDevice(kernel_name, 0);
  return collector.Take();
}

absl::StatusOr<StorageStack> ResolveStorageStack(const std::string& path, const std::string& root) {
  const absl::StatusOr<PathFacts> facts = ReadPathFacts(root + path);
  if (!facts.ok()) return facts.status();
  return ResolveStackOf(*facts, root);
}

}  // namespace fleetmark::agent
