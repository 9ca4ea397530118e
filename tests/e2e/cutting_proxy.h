// CuttingProxy: stands between an agent and its collector, reads the headers of TLS records as they pass, and cuts a
// connection right after the n-th record of application data in one direction. What the records hold it cannot see.
//
// Threads of its own: one accepts, one serves each connection; all are joined by the destructor. Loopback only.
#pragma once

#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/sync/mutex.h"

namespace fleetmark::test {

enum class Direction { kUp, kDown };  // to the collector, from the collector

struct Cut {
  Direction direction = Direction::kUp;
  int after = 1;       // records
  bool reset = false;  // a reset instead of an orderly end: what is under way may be lost
};

class CuttingProxy {
 public:
  CuttingProxy();
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  std::string address() const;  // "127.0.0.1:port"
  void SetUpstream(const std::string& address);
  // One for each of the next connections; those after them are left alone. A connection that ends by itself before its
  // cut leaves it to the next.
  void SetCuts(std::vector<Cut> cuts);
  // How long a connection that is to be cut rests after each record: what a side answers in between is a record of its
  // own, not joined with the next. 0, as at first: not at all. For the connections made from now on.
  void SetPace(absl::Duration pace);
  // Ends every connection and lets no new one live until Unblock.
  void Block();
  void Unblock();

  int cuts_done() const;
  // The most records any connection since SetCuts has passed.
  int most(Direction direction) const;

 private:
  void Accept();
  void Serve(int client);
  bool Note(Direction direction, int records) EXCLUDES(mutex_);

  int listener_ = -1;
  int wake_[2] = {-1, -1};
  mutable Mutex mutex_;
  std::string upstream_ GUARDED_BY(mutex_);
  std::deque<Cut> cuts_ GUARDED_BY(mutex_);
  bool blocked_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  int pace_ms_ GUARDED_BY(mutex_) = 0;
  int generation_ GUARDED_BY(mutex_) = 0;  // calls of SetCuts
  int cuts_done_ GUARDED_BY(mutex_) = 0;
  int most_up_ GUARDED_BY(mutex_) = 0;
  int most_down_ GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> connections_;  // the accepting thread's
  std::thread accepting_;
};

}  // namespace fleetmark::test
