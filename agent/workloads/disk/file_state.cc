#include "agent/workloads/disk/file_state.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "agent/engine/io_engine.h"
#include "agent/platform/usage.h"

namespace fleetmark::agent {
namespace {

constexpr uint64_t kFlushSlice = uint64_t{8} << 20;
constexpr unsigned kExtentsAtOnce = 256;
constexpr double kEvicted = 0.01;
constexpr uint32_t kZfsMagic = 0x2fc12fc1;

// Pages of the whole machine under writeback; 0 if unknown.
uint64_t PagesUnderWriteback() {
  FILE* file = std::fopen("/proc/vmstat", "re");
  if (file == nullptr) return 0;
  char line[128];
  unsigned long long pages = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "nr_writeback %llu", &pages) == 1) break;
  }
  std::fclose(file);
  return pages;
}

absl::Status NotWritten(uint64_t offset, const char* what) {
  return absl::FailedPreconditionError(absl::StrFormat(
      "the file is not fully written: %s at offset %d; reading it would not touch the disk", what, offset));
}

// 0: covered up to `bytes`. Unimplemented where there are no extents to be had.
absl::Status CheckExtents(int fd, uint64_t bytes) {
  std::vector<uint64_t> storage((sizeof(fiemap) + kExtentsAtOnce * sizeof(fiemap_extent)) / sizeof(uint64_t) + 1);
  auto* map = reinterpret_cast<fiemap*>(storage.data());
  uint64_t covered = 0;
  while (covered < bytes) {
    std::memset(storage.data(), 0, storage.size() * sizeof(uint64_t));
    map->fm_start = covered;
    map->fm_length = bytes - covered;
    map->fm_extent_count = kExtentsAtOnce;
    if (ioctl(fd, FS_IOC_FIEMAP, map) != 0) return absl::UnimplementedError("no extents");
    if (map->fm_mapped_extents == 0) return NotWritten(covered, "a hole");
    for (unsigned i = 0; i < map->fm_mapped_extents; ++i) {
      const fiemap_extent& extent = map->fm_extents[i];
      if (extent.fe_logical > covered) return NotWritten(covered, "a hole");
      if ((extent.fe_flags & FIEMAP_EXTENT_UNWRITTEN) != 0) {
        return NotWritten(extent.fe_logical, "space that is only reserved");
      }
      const uint64_t end = extent.fe_logical + extent.fe_length;
      if (end <= covered) return absl::UnimplementedError("extents make no progress");
      covered = end;
      if ((extent.fe_flags & FIEMAP_EXTENT_LAST) != 0 && covered < bytes) return NotWritten(covered, "the end");
      if (covered >= bytes) break;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FlushFile(int fd, uint64_t bytes, const StopCheck& stop) {
  const auto write_out = [fd](uint64_t offset) {
    return sync_file_range(fd, static_cast<off_t>(offset), kFlushSlice, SYNC_FILE_RANGE_WRITE);
  };
  const auto wait_for = [fd](uint64_t offset) {
    return sync_file_range(fd, static_cast<off_t>(offset), kFlushSlice,
                           SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  };
  // An error here is reported again by fsync; file systems without sync_file_range have fsync alone.
  bool sliced = bytes > 0 && write_out(0) == 0;
  for (uint64_t offset = 0; sliced && offset < bytes; offset += kFlushSlice) {
    if (stop()) return absl::CancelledError("stopped while flushing");
    if (offset + kFlushSlice < bytes) sliced = write_out(offset + kFlushSlice) == 0;
    if (sliced) sliced = wait_for(offset) == 0;
  }
  if (stop()) return absl::CancelledError("stopped while flushing");
  if (fsync(fd) != 0) return IoErrorStatus(errno, "fsync");
  return absl::OkStatus();
}

absl::Status CheckFullyWritten(int fd, uint64_t bytes) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0) return IoErrorStatus(errno, "fstat");
  if (static_cast<uint64_t>(facts.st_size) < bytes) return NotWritten(static_cast<uint64_t>(facts.st_size), "the end");
  const absl::Status extents = CheckExtents(fd, bytes);
  if (!absl::IsUnimplemented(extents)) return extents;
  // ZFS knows the blocks of a file only some seconds later: unknown.
  struct statfs file_system {};
  if (fstatfs(fd, &file_system) == 0 && static_cast<uint32_t>(file_system.f_type) == kZfsMagic) return absl::OkStatus();
  // st_blocks counts 512 bytes whatever the block size. Some network file systems always say 0: unknown.
  const auto allocated = static_cast<uint64_t>(facts.st_blocks) * 512;
  if (allocated > 0 && allocated < bytes) return NotWritten(allocated, "a hole somewhere; allocated blocks end");
  return absl::OkStatus();
}

double EvictFile(int fd, uint64_t bytes, bool allow_cache_drop) {
  double left = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    posix_fadvise(fd, 0, static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
    left = PageCacheResidency(fd, 0, bytes).value_or(0);
    if (left <= kEvicted) return left;
    if (allow_cache_drop) {
      if (FILE* file = std::fopen("/proc/sys/vm/drop_caches", "we"); file != nullptr) {
        std::fputs("1\n", file);
        std::fclose(file);
      }
    } else {
      fsync(fd);
    }
  }
  return left;
}

bool WaitUntilSettled(const StackCounters& counters, absl::Duration limit, const StopCheck& stop) {
  const absl::Time deadline = absl::Now() + limit;
  for (;;) {
    if (PagesUnderWriteback() == 0 && counters.Idle()) return true;
    if (stop() || absl::Now() >= deadline) return false;
    absl::SleepFor(absl::Milliseconds(10));
  }
}

}  // namespace fleetmark::agent
