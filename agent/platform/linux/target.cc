#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/platform/bounded_call.h"
#include "agent/platform/linux/block_layers.h"
#include "agent/platform/linux/disk_facts.h"
#include "agent/platform/linux/mountinfo.h"
#include "agent/platform/linux/sysfs.h"
#include "agent/platform/storage_stack.h"
#include "common/text/text.h"

namespace fleetmark::agent {
namespace {

constexpr std::chrono::seconds kNetworkLimit{2};

// Everything about a path that may hang, taken together in one helper thread.
struct Probe {
  std::string problem;
  PathFacts facts;
  v1::TargetKind kind = v1::TARGET_KIND_UNSPECIFIED;
  std::optional<double> size_bytes;
  std::optional<double> free_bytes;
  std::optional<bool> read_only;
};

std::string ErrorText(int error) { return std::strerror(error); }

void ProbeBlockDevice(const std::string& path, Probe& probe) {
  probe.kind = v1::TARGET_KIND_BLOCK_DEVICE;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    probe.problem = "open " + path + " for reading: " + ErrorText(errno);
    return;
  }
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size > 0) probe.size_bytes = static_cast<double>(size);
  if (size == 0) probe.problem = path + " has no medium";
  close(fd);
}

void ProbeDirectory(const std::string& path, Probe& probe) {
  probe.kind = v1::TARGET_KIND_DIRECTORY;
  struct statvfs file_system;
  if (statvfs(path.c_str(), &file_system) == 0) {
    const double unit = static_cast<double>(file_system.f_frsize);
    probe.size_bytes = static_cast<double>(file_system.f_blocks) * unit;
    probe.free_bytes = static_cast<double>(file_system.f_bavail) * unit;
    probe.read_only = (file_system.f_flag & ST_RDONLY) != 0;
  }
  if (probe.read_only.value_or(false)) {
    probe.problem = path + " is on a file system mounted read-only; remount it, or name another directory";
  } else if (faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    probe.problem = path + " is not writable for user " + std::to_string(geteuid()) + ": " + ErrorText(errno);
  }
}

Probe ProbePath(const std::string& path) {
  Probe probe;
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    probe.problem = errno == ENOENT ? path + " does not exist; create it, or correct the agent's configuration"
                                    : "stat " + path + ": " + ErrorText(errno);
    return probe;
  }
  const absl::StatusOr<PathFacts> facts = ReadPathFacts(path);
  if (!facts.ok()) {
    probe.problem = std::string(facts.status().message());
    return probe;
  }
  probe.facts = *facts;
  if (S_ISDIR(status.st_mode)) {
    ProbeDirectory(path, probe);
  } else if (S_ISBLK(status.st_mode)) {
    ProbeBlockDevice(path, probe);
  } else {
    probe.problem = path + " is neither a directory nor a block device; name a directory on the disk to measure";
  }
  return probe;
}

void AddStack(const StorageStack& stack, v1::Target& target) {
  if (!stack.file_system.empty()) target.set_file_system(CleanUtf8(stack.file_system));
  if (!stack.mount_point.empty()) target.set_mount_point(CleanUtf8(stack.mount_point));
  target.set_in_memory(stack.in_memory);
  for (const StackLayer& layer : stack.layers) {
    v1::StorageLayer& out = *target.add_stack();
    out.set_kind(layer.kind);
    out.set_device(CleanUtf8(layer.device));
    if (layer.memory_backed) target.set_memory_backed(true);
    if (layer.lowest && !layer.device.empty()) *target.add_disks() = ReadDisk(layer.device, "");
  }
}

}  // namespace

v1::Target DescribeTarget(const std::string& name, const std::string& path, bool is_default) {
  v1::Target target;
  target.set_name(CleanUtf8(name));
  target.set_path(CleanUtf8(path));
  target.set_is_default(is_default);
  if (path.empty() || path.front() != '/') {
    target.set_problem("the path \"" + CleanUtf8(path) + "\" is not absolute; correct the agent's configuration");
    return target;
  }

  // The name alone tells whether a server may be asked; a symbolic link to one only costs the longer limit.
  const MountTable mounts = ReadMountTable("");
  const Mount* mount = MountOfPath(mounts, path);
  const bool network = mount != nullptr && IsNetworkFileSystem(mount->file_system);
  const std::chrono::seconds limit = network ? kNetworkLimit : kDiskAnswerLimit;
  const std::optional<Probe> probe = CallBounded<Probe>(path, limit, [path] { return ProbePath(path); });
  if (!probe) {
    target.set_problem("unreachable: " + CleanUtf8(path) + " did not answer within " + std::to_string(limit.count()) +
                       " s; is its server or disk there?");
    if (mount != nullptr) {
      target.set_file_system(CleanUtf8(mount->file_system));
      target.set_mount_point(CleanUtf8(mount->mount_point));
    }
    return target;
  }

  target.set_problem(CleanUtf8(probe->problem));
  target.set_kind(probe->kind);
  if (probe->size_bytes) target.set_size_bytes(*probe->size_bytes);
  if (probe->free_bytes) target.set_free_bytes(*probe->free_bytes);
  if (probe->read_only) target.set_read_only(*probe->read_only);
  if (probe->kind == v1::TARGET_KIND_DIRECTORY) {
    AddStack(ResolveStackOf(probe->facts, ""), target);
  } else if (probe->kind == v1::TARGET_KIND_BLOCK_DEVICE) {
    StorageStack stack;
    if (const std::optional<std::string> device = KernelNameOfNumber(probe->facts.device, "")) {
      stack.layers = ResolveBlockDevice(*device, "");
    }
    AddStack(stack, target);
  }
  return target;
}

}  // namespace fleetmark::agent
