// /proc/self/mountinfo. In a chroot or a container it may lack the mount a path lies on, which is a normal state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fleetmark::agent {

struct Mount {
  unsigned major = 0;
  unsigned minor = 0;
  std::string root;           // of the mount within its file system; "/docker/ab12" for a bind mount
  std::string mount_point;    // bytes as they are, escapes undone
  std::string options;        // of the mount
  std::string file_system;    // "ext4"
  std::string source;         // "/dev/sda1"
  std::string super_options;  // of the file system: "rw,upperdir=/x"
};

struct MountTable {
  std::vector<Mount> mounts;  // in the order of the file: later ones lie on top
  size_t bad_lines = 0;       // skipped, since they could not be understood
};

MountTable ParseMountinfo(std::string_view text);

// Reads <root>/proc/self/mountinfo; once more if a line was cut by a race.
MountTable ReadMountTable(const std::string& root);

// The mount a clean absolute path lies on by its name alone; among equals the topmost. nullptr: none.
const Mount* MountOfPath(const MountTable& table, std::string_view path);

// The mount of a device number, preferring the one that holds `path`. nullptr: none.
const Mount* MountOfDevice(const MountTable& table, unsigned major, unsigned minor, std::string_view path);

// The value of `name=value` in a comma-separated list of options, escapes undone.
std::optional<std::string> MountOption(std::string_view options, std::string_view name);

bool IsPathPrefix(std::string_view prefix, std::string_view path);

// True for file systems whose server may be gone, so that any system call on them may hang.
bool IsNetworkFileSystem(std::string_view type);

}  // namespace fleetmark::agent
