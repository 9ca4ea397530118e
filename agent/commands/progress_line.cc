#include "agent/commands/progress_line.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/parameters/parameters.h"
#include "common/render/bar.h"
#include "common/text/text.h"
#include "common/units/format.h"

namespace fleetmark::agent {
namespace {

constexpr int kBarWidth = 22;
constexpr char kClearLine[] = "\r\x1b[K";

std::string PhaseText(const v1::Progress& progress) {
  switch (progress.phase()) {
    case v1::PHASE_WAITING:
      return "waiting";
    case v1::PHASE_PREPARING:
      return "preparing";
    case v1::PHASE_WARMING_UP:
      return "warming up";
    case v1::PHASE_MEASURING:
      return absl::StrCat("repetition ", progress.repetition());
    case v1::PHASE_CLEANING_UP:
      return "cleaning up";
    default:
      return "";
  }
}

}  // namespace

std::string RenderProgress(const std::string& workload, const v1::Progress& progress, const Terminal& terminal,
                           UnitFamily units) {
  std::optional<double> percent;
  if (progress.has_fraction()) percent = 100 * progress.fraction();
  std::string line = absl::StrCat(workload, "  ", RenderBar(percent, kBarWidth, terminal.utf8),
                                  percent.has_value() ? absl::StrFormat(" %3.0f %%", *percent) : std::string("   - %"),
                                  "  ", PhaseText(progress));
  if (!progress.step().empty()) absl::StrAppend(&line, "  ", EscapeForTerminal(progress.step()));
  if (progress.has_rate()) {
    absl::StrAppend(&line, "  ", FormatQuantity(progress.rate(), UnitFromProto(progress.rate_unit()), units));
  }
  if (progress.has_seconds_left()) {
    absl::StrAppend(&line, "  ", FormatTimeSpan(absl::Seconds(progress.seconds_left())), " left");
  }
  return terminal.width > 4 ? TruncateToWidth(line, terminal.width - 1) : line;
}

ProgressLine::ProgressLine(int fd, UnitFamily units) : fd_(fd), units_(units), terminal_(DescribeTerminal(fd)) {}

void ProgressLine::Show(const std::string& workload, const v1::Progress& progress) {
  MutexLock lock(mutex_);
  if (!terminal_.can_redraw) return;
  terminal_ = DescribeTerminal(fd_);  // it may have been resized
  WriteAll(fd_, kClearLine + RenderProgress(workload, progress, terminal_, units_)).IgnoreError();
  shown_ = true;
}

void ProgressLine::Clear() {
  MutexLock lock(mutex_);
  if (shown_) WriteAll(fd_, kClearLine).IgnoreError();
  shown_ = false;
}

}  // namespace fleetmark::agent
