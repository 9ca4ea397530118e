// Counts what operator new hands out in this test program.
#pragma once

#include <cstdint>

namespace fleetmark {

int64_t Allocations();

}  // namespace fleetmark
