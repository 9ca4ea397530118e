// RunView: what a run looks like while it goes on: one line per host. Pure: frames in, lines out; no I/O, no clock of
// its own. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/render/output.h"
#include "fleetmark/v1/fleet.pb.h"

namespace fleetmark::cli {

class RunView {
 public:
  // A whole run, or progress of one of its tasks.
  void Take(const v1::WatchRunResponse& frame);

  const v1::Run& run() const { return run_; }
  bool has_run() const { return run_.id() != 0; }
  bool final() const;

  // For a terminal: one line per host, at most `width` columns wide.
  std::vector<std::string> Lines(int width, bool utf8, UnitFamily units) const;

  // For logs: what has changed since the last call, a line per host that entered another task or state.
  std::vector<std::string> Changes(UnitFamily units);

  // The tasks that ended without a result since the last call: a line each, with host, workload, target and reason.
  std::vector<std::string> NewWithoutResult();

 private:
  struct HostState {
    std::string name;
    std::string state;  // "disk.profile on ssd, measuring", "waiting", "done", "unreachable, ..."
    std::string step;
    double fraction = 0;  // of all its tasks
    bool done = false;
    std::optional<double> rate;
    v1::Unit rate_unit = v1::UNIT_UNSPECIFIED;
    std::optional<double> seconds_left;
  };
  std::vector<HostState> Hosts() const;

  v1::Run run_;
  std::map<int64_t, v1::Progress> progress_;       // newest, by task
  std::map<std::string, std::string> last_state_;  // by host, for Changes()
  std::set<int64_t> without_result_;               // tasks said by NewWithoutResult()
};

}  // namespace fleetmark::cli
