#include "cli/live/run_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/parameters/parameters.h"
#include "common/render/bar.h"
#include "common/text/text.h"
#include "common/units/format.h"

namespace fleetmark::cli {
namespace {

bool IsFinal(v1::TaskState state) {
  return state != v1::TASK_STATE_QUEUED && state != v1::TASK_STATE_ASSIGNED && state != v1::TASK_STATE_RUNNING;
}

std::string PhaseWord(v1::Phase phase) {
  switch (phase) {
    case v1::PHASE_PREPARING:
      return "preparing";
    case v1::PHASE_WARMING_UP:
      return "warming up";
    case v1::PHASE_MEASURING:
      return "measuring";
    case v1::PHASE_CLEANING_UP:
      return "cleaning up";
    default:
      return "running";
  }
}

// The agent's step says what is waited for: "for a quiet machine: 2 CPUs are busy", "another agent measures ...".
// What it says after the colon changes all the time and stays a step.
void TakeWaiting(const std::string& step, std::string& state, std::string& rest) {
  if (step.empty()) {
    state += "waiting";
  } else if (step.starts_with("for ")) {
    const size_t colon = std::min(step.find(": "), step.size());
    state += "waiting " + step.substr(0, colon);
    rest = step.substr(colon);
  } else {
    state += "waiting: " + step;
  }
}

std::string TaskName(const v1::Task& task) {
  return EscapeForTerminal(task.target().empty() ? task.workload() : task.workload() + " on " + task.target());
}

std::string OutcomeWord(v1::TaskState state) {
  switch (state) {
    case v1::TASK_STATE_SKIPPED:
      return "skipped";
    case v1::TASK_STATE_FAILED:
      return "failed";
    case v1::TASK_STATE_LOST:
      return "lost";
    case v1::TASK_STATE_CANCELLED:
      return "cancelled";
    default:
      return "without result";
  }
}

}  // namespace

void RunView::Take(const v1::WatchRunResponse& frame) {
  if (frame.has_run()) {
    run_ = frame.run();
    for (const v1::Task& task : run_.tasks()) {
      if (task.has_progress()) progress_[task.id()] = task.progress();
      if (IsFinal(task.state())) progress_.erase(task.id());
    }
  } else if (frame.has_progress()) {
    progress_[frame.progress().task_id()] = frame.progress();
  }
}

bool RunView::final() const {
  return run_.state() != v1::RUN_STATE_UNSPECIFIED && run_.state() != v1::RUN_STATE_CREATED &&
         run_.state() != v1::RUN_STATE_RUNNING;
}

std::vector<RunView::HostState> RunView::Hosts() const {
  std::vector<HostState> hosts;
  std::map<std::string, size_t> index;
  struct Count {
    unsigned total = 0, final = 0, bad = 0;
    double fraction = 0;
  };
  std::vector<Count> counts;
  for (const v1::Task& task : run_.tasks()) {
    const auto [at, fresh] = index.emplace(task.host_id(), hosts.size());
    if (fresh) {
      hosts.emplace_back().name = EscapeForTerminal(task.host());
      counts.emplace_back();
    }
    HostState& host = hosts[at->second];
    Count& count = counts[at->second];
    ++count.total;
    if (IsFinal(task.state())) {
      ++count.final;
      count.fraction += 1;
      if (task.state() != v1::TASK_STATE_SUCCEEDED) ++count.bad;
      continue;
    }
    if (task.state() == v1::TASK_STATE_QUEUED) {
      if (host.state.empty()) {
        host.state = task.host_connected() ? "queued" : "unreachable, waiting for its agent";
        // What the collector says of a host that is away is said already.
        const bool said = !task.host_connected() && task.reason().find("not connected") != std::string::npos;
        if (!said && !task.reason().empty()) host.state += ": " + EscapeForTerminal(task.reason());
      }
      continue;
    }
    const auto found = progress_.find(task.id());
    host.state = TaskName(task) + ", ";
    if (!task.host_connected()) {
      host.state += "agent unreachable";
    } else if (found == progress_.end()) {
      host.state += task.state() == v1::TASK_STATE_ASSIGNED ? "starting" : "running";
    } else {
      const v1::Progress& progress = found->second;
      host.step = EscapeForTerminal(progress.step());
      if (progress.phase() == v1::PHASE_WAITING) {
        TakeWaiting(std::exchange(host.step, ""), host.state, host.step);
      } else {
        host.state += PhaseWord(progress.phase());
      }
      if (progress.has_fraction()) count.fraction += std::clamp(progress.fraction(), 0.0, 1.0);
      if (progress.has_rate()) host.rate = progress.rate();
      host.rate_unit = progress.rate_unit();
      if (progress.has_seconds_left()) host.seconds_left = progress.seconds_left();
    }
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    HostState& host = hosts[i];
    const Count& count = counts[i];
    host.fraction = count.fraction / count.total;
    host.done = count.final == count.total;
    if (host.done) {
      host.state = count.bad == 0 ? "done" : absl::StrFormat("%d of %d without result", count.bad, count.total);
    }
  }
  return hosts;
}

std::vector<std::string> RunView::Lines(int width, bool utf8, UnitFamily units) const {
  const std::vector<HostState> hosts = Hosts();
  int name_width = 4;
  for (const HostState& host : hosts) name_width = std::max(name_width, std::min(DisplayWidth(host.name), 20));
  std::vector<std::string> lines;
  for (const HostState& host : hosts) {
    std::string name = TruncateToWidth(host.name, name_width);
    name.append(static_cast<size_t>(std::max(0, name_width - DisplayWidth(name))), ' ');
    std::string line = name + " " + RenderBar(100 * host.fraction, width >= 80 ? 22 : 12, utf8) +
                       absl::StrFormat(" %3d%% ", static_cast<int>(100 * host.fraction));
    if (host.rate) line += " " + FormatQuantity(host.rate, UnitFromProto(host.rate_unit), units);
    if (!host.done && host.seconds_left) line += "  " + FormatTimeSpan(absl::Seconds(*host.seconds_left)) + " left";
    line += "  " + host.state;
    if (!host.step.empty()) line += (host.step[0] == ':' ? "" : " ") + host.step;
    lines.push_back(width > 4 ? TruncateToWidth(line, width) : line);
  }
  return lines;
}

std::vector<std::string> RunView::Changes(UnitFamily units) {
  std::vector<std::string> lines;
  for (const HostState& host : Hosts()) {
    std::string& last = last_state_[host.name];
    if (last == host.state) continue;
    last = host.state;
    std::string line = host.name + ": " + absl::StrFormat("%d%%, ", static_cast<int>(100 * host.fraction)) + host.state;
    if (host.rate) line += ", " + FormatQuantity(host.rate, UnitFromProto(host.rate_unit), units);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> RunView::NewWithoutResult() {
  std::vector<std::string> lines;
  for (const v1::Task& task : run_.tasks()) {
    if (!IsFinal(task.state()) || task.state() == v1::TASK_STATE_SUCCEEDED) continue;
    if (!without_result_.insert(task.id()).second) continue;
    const std::string word = OutcomeWord(task.state());
    std::string line = EscapeForTerminal(task.host()) + ": " + TaskName(task) + " " + word;
    // Whoever cancels knows why.
    if (!task.reason().empty() && task.reason() != word) line += ": " + EscapeForTerminal(task.reason());
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace fleetmark::cli
