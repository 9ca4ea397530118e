// Workloads for the tests of worker and executor: they do what a test asks for by their parameter "mode".
#pragma once

#include <vector>

#include "agent/workloads/workload.h"

namespace fleetmark::agent {

// test.cpu (no target) and test.disk (writes `size` bytes of scratch on a target, 8 MiB by default). Modes:
//   quick    one value per repetition (1000 + number), at once
//   wait     reports progress until it is cancelled
//   deaf     the same, but does not listen to the cancel
//   crash    SIGSEGV        exit     exit code 7, with a last word on stderr
//   fail     an error       skip     SkippedError         nan    a value that is not a number
//   stop     SIGSTOP to itself       write  writes to its scratch until it is cancelled
const std::vector<WorkloadEntry>& TestWorkloads();

}  // namespace fleetmark::agent
