// Small files under a root directory ("" = this machine): the way every Linux reader looks at /proc and /sys. Any
// thread; what cannot be read is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fleetmark::agent {

// The whole file, at most 4 MiB, bytes as they are. Never blocks on a FIFO.
std::optional<std::string> ReadText(const std::string& path);

// ReadText without white space and NULs at both ends; absent also where nothing is left.
std::optional<std::string> ReadTrimmed(const std::string& path);

// The number at the start of the file; absent where there is none (empty, "max", "N/A").
std::optional<uint64_t> ReadUnsigned(const std::string& path);
std::optional<int64_t> ReadSigned(const std::string& path);

bool PathExists(const std::string& path);

// Names in a directory without "." and "..", sorted; empty if it cannot be read.
std::vector<std::string> ListDirectory(const std::string& path);

// Where a symbolic link leads in the end, all links followed; absent if it leads nowhere.
std::optional<std::string> RealPath(const std::string& path);

std::string_view Trim(std::string_view text);
std::string_view LastComponent(std::string_view path);
std::vector<std::string_view> SplitFields(std::string_view line);  // at blanks and tabs
std::vector<std::string_view> SplitLines(std::string_view text);
std::optional<uint64_t> ParseUnsigned(std::string_view text);  // digits from the start, the rest is ignored

// "0-3,8,10-11" as the kernel writes it; nonsense ends the list where it stands.
std::vector<int> ParseCpuList(std::string_view text);

}  // namespace fleetmark::agent
