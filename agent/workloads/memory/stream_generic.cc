// Architectures for which no streaming stores are written: only the baseline is measured.
#include "agent/workloads/memory/stream_kernels.h"

namespace fleetmark::agent {

size_t StreamingVariants(const StreamVariant**, size_t) { return 0; }

}  // namespace fleetmark::agent
