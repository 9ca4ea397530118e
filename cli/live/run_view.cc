#include "cli/live/run_view.h"

#include <algorithm>

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
    case v1::PHASE_WAITING:
      return "waiting for a quiet machine";
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

std::string TaskName(const v1::Task& task) {
  return task.target().empty() ? task.workload() : task.workload() + " on " + task.target();
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
    std::string bad_reason;
    bool active = false;
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
      if (task.state() != v1::TASK_STATE_SUCCEEDED) {
        ++count.bad;
        if (count.bad_reason.empty()) count.bad_reason = TaskName(task) + ": " + task.reason();
      }
      continue;
    }
    if (task.state() == v1::TASK_STATE_QUEUED) {
      if (host.state.empty()) {
        host.state = task.host_connected() ? "queued" : "unreachable, waiting for its agent";
        if (!task.reason().empty()) host.state += ": " + EscapeForTerminal(task.reason());
      }
      continue;
    }
    count.active = true;
    const auto found = progress_.find(task.id());
    host.state = TaskName(task) + ", ";
    if (!task.host_connected()) {
      host.state += "agent unreachable";
    } else if (found == progress_.end()) {
      host.state += task.state() == v1::TASK_STATE_ASSIGNED ? "starting" : "running";
    } else {
      const v1::Progress& progress = found->second;
      host.state += PhaseWord(progress.phase());
      host.step = EscapeForTerminal(progress.step());
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
      host.state = count.bad == 0 ? "done" : absl::StrFormat("%d of %d without result: ", count.bad, count.total);
      if (count.bad != 0) host.state += EscapeForTerminal(count.bad_reason);
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
    if (!host.step.empty()) line += " " + host.step;
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

}  // namespace fleetmark::cli
