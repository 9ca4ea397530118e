// Small parsers of what people type: key=value, host=target, run numbers. Pure; errors are INVALID_ARGUMENT and quote
// the word.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::cli {

// "key=value" words; `option` names them in errors ("--set").
absl::StatusOr<std::map<std::string, std::string>> ParseKeyValues(const std::vector<std::string>& words,
                                                                  const std::string& option);

// "ssd" (every host's target of that name) or "thinkpad=data".
absl::StatusOr<std::vector<v1::TargetChoice>> ParseTargets(const std::vector<std::string>& words);

// "12" or "run:12".
absl::StatusOr<int64_t> ParseRunId(const std::string& word);

// "a,b" and repeated words, blanks dropped.
std::vector<std::string> SplitNames(const std::vector<std::string>& words);

}  // namespace fleetmark::cli
