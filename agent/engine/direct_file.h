// What direct I/O can do on a file: its alignment, and whether "direct" is in effect at all (C-003).
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace fleetmark::agent {

struct DirectSupport {
  bool requested = true;
  bool effective = false;  // one aligned transfer went through and left nothing in the page cache
  uint32_t offset_alignment = 4096;
  uint32_t memory_alignment = 4096;
  std::string reason;  // why it is not in effect: "open with O_DIRECT: Invalid argument (EINVAL)"
};

// Probes with one aligned read of `path`, an existing file with at least 64 KiB of written data that the page cache
// need not hold (what it holds of the probed block is dropped). Never fails: a file that cannot be opened is not
// direct.
DirectSupport ProbeDirect(const std::string& path);

// Opens an existing regular file, never through a symbolic link. `direct` asks for O_DIRECT. The status names the path.
absl::StatusOr<int> OpenFile(const std::string& path, bool write, bool direct);

}  // namespace fleetmark::agent
