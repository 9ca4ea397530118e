#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "agent/platform/usage.h"

namespace fleetmark::agent {
namespace {

#ifndef SYS_cachestat
constexpr long kCachestat = 451;  // the same on every architecture
#else
constexpr long kCachestat = SYS_cachestat;
#endif

struct CachestatRange {
  uint64_t offset;
  uint64_t length;
};
struct Cachestat {
  uint64_t cached, dirty, writeback, evicted, recently_evicted;  // pages
};

std::optional<uint64_t> PagesByMincore(int fd, uint64_t begin, uint64_t end, uint64_t page) {
  constexpr uint64_t kWindow = 1ull << 30;
  std::vector<unsigned char> resident;
  uint64_t pages = 0;
  for (uint64_t at = begin; at < end; at += kWindow) {
    const size_t length = static_cast<size_t>(std::min(kWindow, end - at));
    void* map = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(at));
    if (map == MAP_FAILED) return std::nullopt;
    resident.assign((length + page - 1) / page, 0);
    const bool known = mincore(map, length, resident.data()) == 0;
    munmap(map, length);
    if (!known) return std::nullopt;
    pages +=
        static_cast<uint64_t>(std::count_if(resident.begin(), resident.end(), [](unsigned char c) { return c & 1; }));
  }
  return pages;
}

}  // namespace

std::optional<double> PageCacheResidency(int fd, uint64_t offset, uint64_t length) {
  if (length == 0) return std::nullopt;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  const uint64_t end = (offset + length + page - 1) / page * page;
  const uint64_t total_pages = (end - begin) / page;
  const auto total = static_cast<double>(total_pages);

  CachestatRange range{begin, end - begin};
  Cachestat counts{};
  if (syscall(kCachestat, fd, &range, &counts, 0) == 0)
    return std::min(1.0, static_cast<double>(counts.cached) / total);
  const std::optional<uint64_t> pages = PagesByMincore(fd, begin, end, page);
  if (!pages) return std::nullopt;
  return std::min(1.0, static_cast<double>(*pages) / total);
}

}  // namespace fleetmark::agent
