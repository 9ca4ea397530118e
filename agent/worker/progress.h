// How far a task is, and how long it will take: preparation, warm-ups and the repetitions still expected, as one
// fraction that never goes backwards. Pure; one thread.
#pragma once

#include <optional>

namespace fleetmark::agent {

class ProgressEstimate {
 public:
  explicit ProgressEstimate(unsigned expected_passes) : expected_(expected_passes) {}

  // The stop rule's newest opinion about all passes, warm-ups included.
  void Expect(unsigned passes) { expected_ = passes; }

  void BeginPreparation(double now_seconds);
  void BeginPass(double now_seconds);
  void EndPass(double now_seconds);

  struct Estimate {
    double fraction = 0;                 // of the whole task, below 1 until it ends
    std::optional<double> seconds_left;  // absent until it can be told
  };
  // `fraction` of the preparation or pass that is going on, 0..1 (NaN counts as 0).
  Estimate At(double now_seconds, double fraction);

 private:
  enum class Stage { kIdle, kPreparing, kPass };
  std::optional<double> PassSeconds(double in_pass_seconds, double fraction) const;

  unsigned expected_;
  unsigned done_ = 0;
  Stage stage_ = Stage::kIdle;
  double start_seconds_ = 0;  // of the task
  double stage_start_seconds_ = 0;
  double passes_seconds_ = 0;  // of the passes done
  double shown_ = 0;
};

}  // namespace fleetmark::agent
