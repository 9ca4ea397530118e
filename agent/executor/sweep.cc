// SweepScratch: removes what dead workers have left, and nothing else (C-092).
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "agent/executor/executor.h"
#include "agent/platform/bounded_call.h"
#include "agent/worker/manifest.h"
#include "agent/worker/process_identity.h"
#include "agent/worker/scratch.h"
#include "common/log/log.h"
#include "common/units/format.h"

namespace fleetmark::agent {
namespace {

constexpr time_t kAgeOfTornFile = 60;  // seconds; a worker has a temporary file for milliseconds

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::vector<std::string> ListDirectory(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (directory == nullptr) return names;
  while (const dirent* entry = ::readdir(directory.get())) names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

void RemoveIfOld(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
      std::time(nullptr) - info.st_mtime > kAgeOfTornFile) {
    ::unlink(path.c_str());
  }
}

// After a reboot device numbers may have changed: then the inodes alone must do, of the target and of the directory.
bool IsSameTarget(const v1::ScratchManifest& manifest, const FileIdentity& target, bool same_boot) {
  return manifest.target_inode() == target.inode && (!same_boot || manifest.target_device() == target.device);
}

// What was removed as a line, "" if there was nothing. An error: it could not be, and the manifest has to stay.
absl::StatusOr<std::string> Sweep(const v1::ScratchManifest& manifest) {
  const absl::StatusOr<OwnedFd> target = OpenDirectoryWithoutLinks(manifest.target_path());
  if (!target.ok()) return target.status();
  const std::optional<FileIdentity> identity = IdentityOfFd(target->get());
  const bool same_boot = manifest.boot_id() == IdentityOf(::getpid()).boot_id;
  if (!identity.has_value() || !IsSameTarget(manifest, *identity, same_boot)) {
    return absl::FailedPreconditionError(
        absl::StrCat(manifest.target_path(), " is not the directory it was (not mounted just now?)"));
  }
  struct stat found = {};
  if (::fstatat(target->get(), manifest.directory_name().c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return "";
  std::optional<FileIdentity> expected;
  if (manifest.has_directory_inode()) {
    expected = FileIdentity{same_boot ? manifest.directory_device() : identity->device, manifest.directory_inode()};
    if (expected->inode != found.st_ino || expected->device != found.st_dev) {
      LogWarning("executor", absl::StrCat("left alone: ", manifest.target_path(), "/", manifest.directory_name(),
                                          " is not what the worker had made"));
      return "";
    }
  }
  const absl::StatusOr<uint64_t> removed = RemoveDirectoryAt(target->get(), manifest.directory_name(), expected);
  if (!removed.ok()) return removed.status();
  return absl::StrCat("removed ", manifest.target_path(), "/", manifest.directory_name(),
                      ", left by a worker that was ",
                      "killed: ", FormatQuantity(static_cast<double>(*removed), Unit::kBytes), " reclaimed");
}

}  // namespace

std::vector<std::string> SweepScratch(const std::string& state_directory) {
  std::vector<std::string> removed;
  const std::string directory = absl::StrCat(state_directory, "/manifests");
  for (const std::string& name : ListDirectory(directory)) {
    const std::string path = absl::StrCat(directory, "/", name);
    if (EndsWith(name, ".tmp")) RemoveIfOld(path);
    if (!EndsWith(name, kManifestSuffix)) continue;
    const absl::StatusOr<v1::ScratchManifest> manifest = ReadManifest(path);
    if (!manifest.ok()) {
      LogWarning("executor", absl::StrCat("left alone: ", std::string(manifest.status().message())));
      continue;
    }
    const ProcessIdentity worker{manifest->pid(), manifest->process_start_ticks(), manifest->boot_id()};
    if (IsAlive(worker)) continue;
    // Of a file system whose server is gone nothing can be removed, and whoever asks it does not come back.
    const std::string target = manifest->target_path();
    const bool answers = RunBounded(target, kDiskAnswerLimit, [target] {
      struct stat info = {};
      return (void)::stat(target.c_str(), &info);
    });
    const absl::StatusOr<std::string> line =
        answers ? Sweep(*manifest) : absl::UnavailableError(absl::StrCat(target, " does not answer"));
    if (!line.ok()) {
      LogWarning("executor", absl::StrCat("scratch of a killed worker stays for now: ", manifest->target_path(), "/",
                                          manifest->directory_name(), ": ", std::string(line.status().message())));
      continue;
    }
    const absl::Status forgotten = RemoveManifest(path);
    if (!forgotten.ok()) LogWarning("executor", std::string(forgotten.message()));
    if (!line->empty()) removed.push_back(*line);
  }
  return removed;
}

}  // namespace fleetmark::agent
