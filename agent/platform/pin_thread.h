// Keeps the calling thread on one CPU. Where the system refuses or has no such thing, the thread stays free.
#pragma once

namespace fleetmark::agent {

bool PinThisThread(int cpu);

}  // namespace fleetmark::agent
