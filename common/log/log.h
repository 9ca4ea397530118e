// One line on stderr per event: "2026-05-01T12:00:00.123Z I agent: connected to 10.0.0.2:7401".
//
// Thread-safe; a line is written with one write(2). Control characters in the text are escaped, so that a host name
// with a newline cannot forge a line. Never pass secrets: callers redact (see common/text).
#pragma once

#include <string_view>

namespace fleetmark {

// `area` is a short constant such as "agent" or "store".
void LogInfo(std::string_view area, std::string_view text);
void LogWarning(std::string_view area, std::string_view text);
void LogError(std::string_view area, std::string_view text);

}  // namespace fleetmark
