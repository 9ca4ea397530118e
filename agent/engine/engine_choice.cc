#include "agent/engine/engine_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace fleetmark::agent {
namespace {

constexpr double kProbeSeconds = 0.06;
constexpr double kProbeRampSeconds = 0.02;
constexpr int kRounds = 2;
constexpr double kAdvantage = 1.10;

struct Candidate {
  std::unique_ptr<IoEngine> engine;
  double best_rate = 0;  // operations per second, the better of the rounds: a disturbance only makes slower
  absl::Status unavailable;
};

std::vector<Candidate> CandidatesFor(const IoJob& job) {
  std::vector<Candidate> candidates;
  for (std::unique_ptr<IoEngine>& engine : MakeEngines()) {
    // A pool of one thread is the synchronous engine under another name.
    if (!engine->Supports(job) || (job.depth == 1 && engine->name() == "threads")) continue;
    candidates.push_back({std::move(engine), 0, absl::OkStatus()});
  }
  if (job.depth == 1) {
    std::stable_partition(candidates.begin(), candidates.end(),
                          [](const Candidate& candidate) { return candidate.engine->name() == "sync"; });
  }
  return candidates;
}

}  // namespace

absl::StatusOr<EngineChoice> ChooseEngine(const IoJob& job, const std::function<bool()>& cancelled) {
  IoJob probe = job;
  probe.read_fraction = 1;
  probe.run_seconds = kProbeSeconds;
  probe.ramp_seconds = kProbeRampSeconds;
  JobHooks hooks;
  hooks.cancelled = cancelled;

  std::vector<Candidate> candidates = CandidatesFor(job);
  for (int round = 0; round < kRounds; ++round) {
    for (Candidate& candidate : candidates) {
      if (!candidate.unavailable.ok()) continue;
      JobResult result;
      const absl::Status status = candidate.engine->Run(probe, hooks, result);
      if (absl::IsUnavailable(status)) {
        candidate.unavailable = status;
        continue;
      }
      if (!status.ok()) return status;
      if (result.elapsed_seconds <= 0) continue;
      const double rate = static_cast<double>(result.reads) / result.elapsed_seconds;
      candidate.best_rate = std::max(candidate.best_rate, rate);
    }
  }

  EngineChoice choice;
  double to_beat = 0;
  std::string problems;
  for (Candidate& candidate : candidates) {
    if (!candidate.unavailable.ok()) {
      absl::StrAppend(&problems, problems.empty() ? "" : "; ", std::string(candidate.unavailable.message()));
      continue;
    }
    absl::StrAppend(&choice.evidence, choice.evidence.empty() ? "" : ", ", std::string(candidate.engine->name()),
                    absl::StrFormat(" %.0f/s", candidate.best_rate));
    if (choice.engine == nullptr || candidate.best_rate > to_beat * kAdvantage) {
      to_beat = candidate.best_rate;
      choice.engine = std::move(candidate.engine);
    }
  }
  if (choice.engine == nullptr) {
    return absl::UnavailableError(absl::StrFormat("no I/O engine keeps %d x %d operations in flight here%s%s",
                                                  job.depth, job.threads, problems.empty() ? "" : ": ", problems));
  }
  return choice;
}

}  // namespace fleetmark::agent
