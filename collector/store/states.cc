#include "collector/store/states.h"

#include <vector>

namespace fleetmark::collector {
namespace {

template <typename State>
struct Entry {
  State state;
  std::string_view name;
  bool is_final;
  std::vector<State> next;
};

const std::vector<Entry<v1::RunState>>& Runs() {
  using enum v1::RunState;
  static const std::vector<Entry<v1::RunState>> table = {
      {RUN_STATE_CREATED,
       "created",
       false,
       {RUN_STATE_RUNNING, RUN_STATE_SUCCEEDED, RUN_STATE_PARTIAL, RUN_STATE_FAILED, RUN_STATE_CANCELLED}},
      {RUN_STATE_RUNNING,
       "running",
       false,
       {RUN_STATE_SUCCEEDED, RUN_STATE_PARTIAL, RUN_STATE_FAILED, RUN_STATE_CANCELLED}},
      {RUN_STATE_SUCCEEDED, "succeeded", true, {}},
      // A late result amends its run.
      {RUN_STATE_PARTIAL, "partial", true, {RUN_STATE_SUCCEEDED}},
      {RUN_STATE_FAILED, "failed", true, {RUN_STATE_PARTIAL, RUN_STATE_SUCCEEDED}},
      {RUN_STATE_CANCELLED, "cancelled", true, {}},
  };
  return table;
}

const std::vector<Entry<v1::TaskState>>& Tasks() {
  using enum v1::TaskState;
  static const std::vector<Entry<v1::TaskState>> table = {
      {TASK_STATE_QUEUED, "queued", false, {TASK_STATE_ASSIGNED, TASK_STATE_CANCELLED, TASK_STATE_LOST}},
      // Back to queued: refused for the moment, or disowned by its agent.
      {TASK_STATE_ASSIGNED,
       "assigned",
       false,
       {TASK_STATE_RUNNING, TASK_STATE_QUEUED, TASK_STATE_FAILED, TASK_STATE_SKIPPED, TASK_STATE_CANCELLED,
        TASK_STATE_LOST}},
      {TASK_STATE_RUNNING,
       "running",
       false,
       {TASK_STATE_SUCCEEDED, TASK_STATE_FAILED, TASK_STATE_SKIPPED, TASK_STATE_CANCELLED, TASK_STATE_LOST,
        TASK_STATE_QUEUED}},
      {TASK_STATE_SUCCEEDED, "succeeded", true, {}},
      {TASK_STATE_FAILED, "failed", true, {}},
      {TASK_STATE_SKIPPED, "skipped", true, {}},
      {TASK_STATE_CANCELLED, "cancelled", true, {}},
      {TASK_STATE_LOST, "lost", true, {TASK_STATE_SUCCEEDED}},
  };
  return table;
}

const std::vector<Entry<AttemptState>>& Attempts() {
  using enum AttemptState;
  static const std::vector<Entry<AttemptState>> table = {
      {kStarted, "started", false, {kFinished, kInterrupted, kDisowned}},
      {kFinished, "finished", true, {}},
      {kInterrupted, "interrupted", true, {}},
      {kDisowned, "disowned", true, {}},
  };
  return table;
}

template <typename State>
const Entry<State>* Find(const std::vector<Entry<State>>& table, State state) {
  for (const Entry<State>& entry : table) {
    if (entry.state == state) return &entry;
  }
  return nullptr;
}

template <typename State>
std::optional<State> FindName(const std::vector<Entry<State>>& table, std::string_view name) {
  for (const Entry<State>& entry : table) {
    if (entry.name == name) return entry.state;
  }
  return std::nullopt;
}

template <typename State>
std::string_view NameIn(const std::vector<Entry<State>>& table, State state) {
  const Entry<State>* entry = Find(table, state);
  return entry == nullptr ? "unspecified" : entry->name;
}

template <typename State>
bool Allowed(const std::vector<Entry<State>>& table, State from, State to) {
  const Entry<State>* entry = Find(table, from);
  if (entry == nullptr) return false;
  for (const State next : entry->next) {
    if (next == to) return true;
  }
  return false;
}

}  // namespace

std::string_view Name(v1::RunState state) { return NameIn(Runs(), state); }
std::string_view Name(v1::TaskState state) { return NameIn(Tasks(), state); }
std::string_view Name(AttemptState state) { return NameIn(Attempts(), state); }

v1::RunState RunStateNamed(std::string_view name) { return FindName(Runs(), name).value_or(v1::RUN_STATE_UNSPECIFIED); }
v1::TaskState TaskStateNamed(std::string_view name) {
  return FindName(Tasks(), name).value_or(v1::TASK_STATE_UNSPECIFIED);
}
std::optional<AttemptState> AttemptStateNamed(std::string_view name) { return FindName(Attempts(), name); }

bool MayBecome(v1::RunState from, v1::RunState to) { return Allowed(Runs(), from, to); }
bool MayBecome(v1::TaskState from, v1::TaskState to) { return Allowed(Tasks(), from, to); }
bool MayBecome(AttemptState from, AttemptState to) { return Allowed(Attempts(), from, to); }

bool IsFinal(v1::RunState state) {
  const auto* entry = Find(Runs(), state);
  return entry != nullptr && entry->is_final;
}
bool IsFinal(v1::TaskState state) {
  const auto* entry = Find(Tasks(), state);
  return entry != nullptr && entry->is_final;
}

std::vector<std::string> MayPrecede(v1::TaskState to) {
  std::vector<std::string> names;
  for (const auto& entry : Tasks()) {
    if (MayBecome(entry.state, to)) names.emplace_back(entry.name);
  }
  return names;
}

v1::RunState RunStateFor(const TaskCounts& counts, bool cancel_requested) {
  if (counts.open > 0) return counts.begun > 0 ? v1::RUN_STATE_RUNNING : v1::RUN_STATE_CREATED;
  if (counts.cancelled > 0 && cancel_requested) return v1::RUN_STATE_CANCELLED;
  if (counts.cancelled + counts.other == 0) return v1::RUN_STATE_SUCCEEDED;
  return counts.succeeded > 0 ? v1::RUN_STATE_PARTIAL : v1::RUN_STATE_FAILED;
}

}  // namespace fleetmark::collector
