// The agent's own configuration: where it lies, what it means. It is the whole of what a collector can make this
// machine do. Pure functions but for the reading.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "fleetmark/v1/config.pb.h"

namespace fleetmark::agent {

// $XDG_CONFIG_HOME/fleetmark/agent.textproto (default ~/.config), /etc/fleetmark/agent.textproto for root.
std::string DefaultConfigPath();
// $XDG_STATE_HOME/fleetmark/agent (default ~/.local/state), /var/lib/fleetmark/agent for root.
std::string DefaultStateDirectory();

// Reads and validates the file. Errors are "file:line:column: reason"; unknown keys become warnings with the nearest
// key there is (`strict`: errors). NotFound if there is no such file.
absl::StatusOr<v1::AgentConfig> LoadAgentConfig(const std::string& path, std::vector<std::string>* warnings = nullptr,
                                                bool strict = false);
// The same for text; `name` is what messages call it.
absl::StatusOr<v1::AgentConfig> ParseAgentConfig(std::string_view text, const std::string& name,
                                                 std::vector<std::string>* warnings = nullptr, bool strict = false);

// The texts with units as numbers.
struct AgentLimits {
  std::optional<double> max_bytes;  // absent: no ceiling but the free space
  absl::Duration max_duration = absl::Hours(24);
  uint32_t max_threads = 0;              // 0: none but those of the parameters
  std::optional<double> min_free_bytes;  // absent: the larger of 1 GiB and 5 %
  double spool_capacity_bytes = 200.0 * 1024 * 1024;
};
absl::StatusOr<AgentLimits> LimitsOf(const v1::AgentConfig& config);

// Whether the list of workloads lets `name` run ("*" matches any part; no list: all).
bool IsWorkloadAllowed(const v1::AgentConfig& config, const std::string& name);

// The target of that name; "" means the default one (marked so, or the only one). The error names the line of
// configuration that would allow it.
absl::StatusOr<v1::TargetConfig> FindTarget(const v1::AgentConfig& config, const std::string& name);

}  // namespace fleetmark::agent
