// The name of a thread, as top -H, gdb and perf show it.
#pragma once

#include <string_view>

namespace fleetmark {

// Names the calling thread; the system keeps 15 bytes of it. Call first thing in a thread's function.
void SetThreadName(std::string_view name);

}  // namespace fleetmark
