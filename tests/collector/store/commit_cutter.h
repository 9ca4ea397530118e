// A proxy in front of the test server's socket that can cut a connection in the worst moment: after the server has
// committed, before its answer gets through.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "common/lifecycle/stop_signal.h"
#include "tests/support/postgres.h"

namespace fleetmark::collector {

class CommitCutter {
 public:
  // `dsn`: of the database behind it.
  explicit CommitCutter(const std::string& dsn);
  ~CommitCutter();

  const std::string& dsn() const { return dsn_; }
  // Cuts the next `times` commits.
  void Arm(int times) { armed_ = times; }
  int cuts() const { return cuts_; }

 private:
  void Accept();
  void Forward(int client);

  fleetmark::testing::SharedTempDirectory directory_;
  std::string dsn_;
  std::string server_socket_;
  int listener_ = -1;
  std::atomic<int> armed_{0};
  std::atomic<int> cuts_{0};
  StopSignal stop_;
  std::thread acceptor_;
  std::vector<std::thread> forwarders_;  // of the acceptor's thread
};

}  // namespace fleetmark::collector
