// /proc/meminfo, whose "kB" are 1024 bytes (C-079).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fleetmark::agent {

// Bytes of one line of <root>/proc/meminfo.
std::optional<uint64_t> ReadMeminfo(const std::string& root, std::string_view name);

}  // namespace fleetmark::agent
