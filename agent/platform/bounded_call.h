// Calls that may hang for ever (a dead server's file system) made by a helper thread, waited for a limited time.
//
// A call that hangs keeps its thread: nothing can end it. Its key is remembered, and until it returns no further thread
// is started for that key, so that a dead mount costs one thread however often it is asked for (C-067). The call must
// own what it uses, since its caller may be gone. Any thread may call.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace fleetmark::agent {

inline constexpr std::chrono::seconds kDiskAnswerLimit(
    20);  // a busy disk may make anyone wait; only a dead one so long

// True if `call` returned in time. False: not in time, or an earlier call with this key still hangs.
bool RunBounded(const std::string& key, std::chrono::milliseconds limit, std::function<void()> call);

// How many calls hang just now.
size_t HangingCalls();

template <typename T>
std::optional<T> CallBounded(const std::string& key, std::chrono::milliseconds limit, std::function<T()> call) {
  const auto result = std::make_shared<std::optional<T>>();
  if (!RunBounded(key, limit, [result, call = std::move(call)] { *result = call(); })) return std::nullopt;
  return std::move(*result);
}

}  // namespace fleetmark::agent
