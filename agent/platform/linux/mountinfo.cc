#include "agent/platform/linux/mountinfo.h"

#include <algorithm>
#include <array>

#include "agent/platform/linux/sysfs.h"

namespace fleetmark::agent {
namespace {

// The kernel writes blank, tab, newline and backslash as \ooo.
std::string UndoEscapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::optional<Mount> ParseLine(std::string_view line) {
  const std::vector<std::string_view> fields = SplitFields(line);
  if (fields.size() < 6) return std::nullopt;
  const auto separator = std::find(fields.begin() + 6, fields.end(), std::string_view("-"));
  if (fields.end() - separator < 3) return std::nullopt;  // "-" type source [options]

  Mount mount;
  const size_t colon = fields[2].find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> major = ParseUnsigned(fields[2].substr(0, colon));
  const std::optional<uint64_t> minor = ParseUnsigned(fields[2].substr(colon + 1));
  if (!major || !minor) return std::nullopt;
  mount.major = static_cast<unsigned>(*major);
  mount.minor = static_cast<unsigned>(*minor);
  mount.root = UndoEscapes(fields[3]);
  mount.mount_point = UndoEscapes(fields[4]);
  mount.options = std::string(fields[5]);
  mount.file_system = UndoEscapes(separator[1]);
  mount.source = UndoEscapes(separator[2]);
  if (fields.end() - separator > 3) mount.super_options = std::string(separator[3]);
  return mount;
}

}  // namespace

MountTable ParseMountinfo(std::string_view text) {
  MountTable table;
  for (const std::string_view line : SplitLines(text)) {
    if (Trim(line).empty()) continue;
    std::optional<Mount> mount = ParseLine(line);
    if (mount) {
      table.mounts.push_back(*std::move(mount));
    } else {
      ++table.bad_lines;
    }
  }
  return table;
}

MountTable ReadMountTable(const std::string& root) {
  const std::string path = root + "/proc/self/mountinfo";
  MountTable table = ParseMountinfo(ReadText(path).value_or(""));
  if (table.bad_lines > 0) table = ParseMountinfo(ReadText(path).value_or(""));
  return table;
}

bool IsPathPrefix(std::string_view prefix, std::string_view path) {
  if (prefix == "/") return !path.empty() && path.front() == '/';
  return path.substr(0, prefix.size()) == prefix && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

const Mount* MountOfPath(const MountTable& table, std::string_view path) {
  const Mount* best = nullptr;
  for (const Mount& mount : table.mounts) {
    if (!IsPathPrefix(mount.mount_point, path)) continue;
    if (best == nullptr || mount.mount_point.size() >= best->mount_point.size()) best = &mount;
  }
  return best;
}

const Mount* MountOfDevice(const MountTable& table, unsigned major, unsigned minor, std::string_view path) {
  const Mount* holds_path = nullptr;
  const Mount* any = nullptr;
  for (const Mount& mount : table.mounts) {
    if (mount.major != major || mount.minor != minor) continue;
    any = &mount;
    if (!IsPathPrefix(mount.mount_point, path)) continue;
    if (holds_path == nullptr || mount.mount_point.size() >= holds_path->mount_point.size()) holds_path = &mount;
  }
  return holds_path != nullptr ? holds_path : any;
}

std::optional<std::string> MountOption(std::string_view options, std::string_view name) {
  while (!options.empty()) {
    const size_t comma = options.find(',');
    const std::string_view option = options.substr(0, comma);
    if (option.size() > name.size() && option.substr(0, name.size()) == name && option[name.size()] == '=') {
      return UndoEscapes(option.substr(name.size() + 1));
    }
    if (comma == std::string_view::npos) break;
    options.remove_prefix(comma + 1);
  }
  return std::nullopt;
}

bool IsNetworkFileSystem(std::string_view type) {
  static constexpr std::array<std::string_view, 18> kNetwork = {
      "nfs",   "nfs4", "cifs", "smb3",  "smbfs", "9p",    "ceph",   "glusterfs",  "lustre",
      "ncpfs", "afs",  "coda", "ocfs2", "gfs2",  "davfs", "autofs", "fuse.sshfs", "fuse.glusterfs"};
  if (std::find(kNetwork.begin(), kNetwork.end(), type) != kNetwork.end()) return true;
  return type.substr(0, 5) == "fuse." && type != "fuse.lxcfs";
}

}  // namespace fleetmark::agent
