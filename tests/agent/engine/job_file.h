// A file and a job on it, for tests of engines; and a thread in which io_uring is forbidden.
#pragma once

#include <functional>
#include <string>

#include "agent/engine/data_pool.h"
#include "agent/engine/io_job.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::agent {

class JobFile {
 public:
  explicit JobFile(uint64_t bytes);
  ~JobFile();

  // Random 4 KiB reads at depth 4 for 60 ms after 20 ms of ramp.
  IoJob Job();
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  DataPool& pool() { return pool_; }

 private:
  test::TempDirectory directory_;
  std::string path_;
  DataPool pool_;
  uint64_t bytes_;
  int fd_ = -1;
};

// Runs `body` in a thread for which io_uring_setup fails with EPERM, as in many containers.
void WithoutUring(const std::function<void()>& body);

}  // namespace fleetmark::agent
