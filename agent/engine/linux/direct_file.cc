#include "agent/engine/direct_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/engine/data_pool.h"
#include "agent/engine/io_engine.h"

namespace fleetmark::agent {
namespace {

constexpr uint32_t kProbeBytes = 65536;

class Closer {
 public:
  explicit Closer(int fd) : fd_(fd) {}
  ~Closer() {
    if (fd_ >= 0) close(fd_);
  }
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;

 private:
  int fd_;
};

// What the file system says of itself; kernels before 6.1 do not.
bool AskAlignment(int fd, DirectSupport& support) {
#ifdef STATX_DIOALIGN
  struct statx facts {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) != 0 || (facts.stx_mask & STATX_DIOALIGN) == 0) return false;
  if (facts.stx_dio_offset_align == 0) {
    support.reason = "the file system says that this file has no direct I/O";
    return true;
  }
  support.offset_alignment = facts.stx_dio_offset_align;
  support.memory_alignment = std::max<uint32_t>(facts.stx_dio_mem_align, 1);
  return true;
#else
  (void)fd;
  (void)support;
  return false;
#endif
}

// Pages of [0, bytes) in the page cache.
std::optional<size_t> CachedPages(int fd, size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return std::nullopt;
  unsigned char resident[kProbeBytes / 4096] = {};
  const bool known = mincore(memory, bytes, resident) == 0;
  munmap(memory, bytes);
  if (!known) return std::nullopt;
  return static_cast<size_t>(
      std::count_if(std::begin(resident), std::end(resident), [](unsigned char page) { return (page & 1) != 0; }));
}

}  // namespace

absl::StatusOr<int> OpenFile(const std::string& path, bool write, bool direct) {
  const int flags = (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | (direct ? O_DIRECT : 0);
  const int fd = open(path.c_str(), flags);
  if (fd < 0) return IoErrorStatus(errno, absl::StrCat("open ", path, direct ? " with O_DIRECT" : ""));
  return fd;
}

DirectSupport ProbeDirect(const std::string& path) {
  DirectSupport support;
  const absl::StatusOr<int> fd = OpenFile(path, false, true);
  if (!fd.ok()) {
    support.reason = std::string(fd.status().message());
    return support;
  }
  const Closer closer(*fd);
  const bool told = AskAlignment(*fd, support);
  if (!support.reason.empty()) return support;

  const absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Allocate(kProbeBytes);
  if (!buffer.ok()) {
    support.reason = std::string(buffer.status().message());
    return support;
  }
  // The whole file: a large folio is dropped only as a whole.
  posix_fadvise(*fd, 0, 0, POSIX_FADV_DONTNEED);
  if (!told) {
    // 512 where it works, else 4096; memory stays page-aligned.
    support.offset_alignment = pread(*fd, buffer->data(), 512, 512) == 512 ? 512 : 4096;
  }
  const size_t cached_before = CachedPages(*fd, kProbeBytes).value_or(0);
  if (const ssize_t moved = pread(*fd, buffer->data(), kProbeBytes, 0); moved != kProbeBytes) {
    support.reason = moved < 0 ? std::string(IoErrorStatus(errno, absl::StrCat("direct read of ", path)).message())
                               : absl::StrCat("a direct read of ", kProbeBytes, " bytes gave ", moved);
    return support;
  }
  // On tmpfs the pages are there before as well: the cache is where the file lives.
  const size_t cached_after = CachedPages(*fd, kProbeBytes).value_or(0);
  if (cached_after > cached_before || cached_after == kProbeBytes / 4096) {
    support.reason = absl::StrCat("after a direct read ", cached_after, " pages are in the page cache");
    return support;
  }
  support.effective = true;
  return support;
}

}  // namespace fleetmark::agent
