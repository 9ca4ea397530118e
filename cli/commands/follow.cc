#include "cli/commands/follow.h"

#include <unistd.h>

#include "absl/strings/str_format.h"
#include "cli/commands/tables.h"
#include "cli/live/run_view.h"
#include "common/time/clock.h"
#include "common/views/comparison_tables.h"

namespace fleetmark::cli {
namespace {

constexpr absl::Duration kWaitForCollector = absl::Minutes(2);
constexpr absl::Duration kLogEvery = absl::Seconds(10);

// Draws RunView's lines over each other on a terminal; prints changes elsewhere.
class Display {
 public:
  explicit Display(Context& context) : context_(context) {}

  void Show(RunView& view) {
    if (!view.has_run()) return;
    for (const std::string& line : view.NewWithoutResult()) Say("fleetmark: " + line);
    if (context_.err().can_redraw) {
      Redraw(view.Lines(context_.err().width, context_.err().utf8, context_.units()));
      return;
    }
    const int64_t now_ns = SystemClock().MonotonicNs();
    const bool log_time = now_ns - last_log_ns_ >= absl::ToInt64Nanoseconds(kLogEvery);
    const std::vector<std::string> changes = view.Changes(context_.units());
    if (!changes.empty()) {
      for (const std::string& line : changes) context_.Say(line);
      last_log_ns_ = now_ns;
    } else if (log_time) {
      for (const std::string& line : view.Lines(0, context_.err().utf8, context_.units())) context_.Say(line);
      last_log_ns_ = now_ns;
    }
  }

  // A message that stays above the lines.
  void Say(const std::string& text) {
    Erase();
    context_.Say(text);
  }

  void Erase() {
    if (drawn_ == 0) return;
    Write(absl::StrFormat("\x1b[%dA\x1b[J", drawn_));
    drawn_ = 0;
  }

 private:
  void Redraw(const std::vector<std::string>& lines) {
    std::string text;
    if (drawn_ > 0) text = absl::StrFormat("\x1b[%dA", drawn_);
    for (const std::string& line : lines) text += "\r" + line + "\x1b[K\n";
    text += "\x1b[J";
    Write(text);
    drawn_ = static_cast<int>(lines.size());
  }
  void Write(const std::string& text) { [[maybe_unused]] const absl::Status status = WriteAll(STDERR_FILENO, text); }

  Context& context_;
  int drawn_ = 0;
  int64_t last_log_ns_ = 0;
};

int ExitCodeOfRun(const v1::Run& run) { return run.state() == v1::RUN_STATE_SUCCEEDED ? kExitOk : kExitFailed; }

int PrintResults(Context& context, const v1::Run& run) {
  v1::RunReport report;
  *report.mutable_run() = run;
  v1::CompareRequest request;
  request.add_run_ids(run.id());
  const absl::Status status = context.Ask(request, *report.mutable_comparison());
  // A run without any result still has its tasks to show.
  if (!status.ok() && !absl::IsNotFound(status)) return context.Fail(status);
  std::vector<Table> tables;
  if (status.ok()) tables = ComparisonTables(report.comparison());
  bool all_succeeded = true;
  for (const v1::Task& task : run.tasks()) all_succeeded = all_succeeded && task.state() == v1::TASK_STATE_SUCCEEDED;
  if (!all_succeeded || tables.empty()) tables.push_back(TasksTable(run));
  const int printed = context.Print(report, tables, ComparisonCsv(report.comparison()));
  context.Say(absl::StrFormat("run %d %s; fleetmark runs show %d, fleetmark compare --run %d", run.id(),
                              StateWord(run.state()), run.id(), run.id()));
  return printed != kExitOk ? printed : ExitCodeOfRun(run);
}

}  // namespace

int FollowRun(Context& context, int64_t run_id, CtrlC ctrl_c) {
  RunView view;
  Display display(context);
  StopSignal never;
  bool interrupted = false;
  int64_t lost_since_ns = 0;
  v1::WatchRunRequest request;
  request.set_run_id(run_id);
  const absl::StatusOr<FleetClient*> client = context.Client();
  if (!client.ok()) return context.Fail(client.status());

  while (true) {
    const absl::Status status =
        (*client)->WatchRun(request, interrupted ? never : context.stop(), [&](const v1::WatchRunResponse* frame) {
          if (frame != nullptr) {
            view.Take(*frame);
            lost_since_ns = 0;
          }
          display.Show(view);
        });
    if (status.ok() && view.final()) break;

    if (!interrupted && context.stop().requested()) {
      display.Erase();
      if (ctrl_c == CtrlC::kStopsWatching) {
        context.Say(absl::StrFormat("run %d goes on; fleetmark runs cancel %d ends it", run_id, run_id));
        return kExitInterrupted;
      }
      context.Say(absl::StrFormat("cancelling run %d on every host; Ctrl-C again leaves at once", run_id));
      interrupted = true;
      v1::CancelRunRequest cancel;
      cancel.set_run_id(run_id);
      v1::CancelRunResponse cancelled;
      const absl::Status sent = context.Ask(cancel, cancelled);
      // Final already: the next frame says so.
      if (!sent.ok() && !absl::IsFailedPrecondition(sent)) {
        context.Fail(sent);
        return kExitInterrupted;
      }
      continue;
    }
    if (!status.ok() && !absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status) &&
        !absl::IsCancelled(status)) {
      display.Erase();
      return context.Fail(status);
    }
    const int64_t now_ns = SystemClock().MonotonicNs();
    if (lost_since_ns == 0) {
      lost_since_ns = now_ns;
      display.Say("fleetmark: lost the collector, trying again; the run goes on without it");
    } else if (now_ns - lost_since_ns > absl::ToInt64Nanoseconds(kWaitForCollector)) {
      display.Erase();
      return context.Fail(absl::UnavailableError(
          absl::StrFormat("the collector did not come back within 2 min (%s); run %d goes on by itself, and 'fleetmark "
                          "runs watch %d' follows it again",
                          std::string(status.message()), run_id, run_id)));
    }
    if (interrupted) {
      never.WaitFor(absl::Seconds(1));
    } else {
      context.stop().WaitFor(absl::Seconds(1));
    }
  }
  display.Erase();
  const int result = PrintResults(context, view.run());
  return interrupted ? kExitInterrupted : result;
}

}  // namespace fleetmark::cli
