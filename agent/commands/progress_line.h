// The one line that moves on stderr while a task runs here. Nothing where stderr is no terminal. May be called from any
// thread.
#pragma once

#include <string>

#include "common/render/output.h"
#include "common/sync/mutex.h"
#include "common/units/units.h"
#include "fleetmark/v1/result.pb.h"

namespace fleetmark::agent {

// "disk.profile  [#####>    ]  42 %  seq1m_q8t1 read  512 MB/s  45 s left", at most `width` columns. Pure.
std::string RenderProgress(const std::string& workload, const v1::Progress& progress, const Terminal& terminal,
                           UnitFamily units);

class ProgressLine {
 public:
  ProgressLine(int fd, UnitFamily units);
  ~ProgressLine() { Clear(); }

  void Show(const std::string& workload, const v1::Progress& progress);
  // To be called before anything else is printed.
  void Clear();

 private:
  const int fd_;
  const UnitFamily units_;
  Mutex mutex_;
  Terminal terminal_ GUARDED_BY(mutex_);
  bool shown_ GUARDED_BY(mutex_) = false;
};

}  // namespace fleetmark::agent
