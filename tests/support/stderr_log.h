// StderrLog: what this process writes to standard error while the object lives, readable at any time. gtest's capture
// has to be ended to be read, and what is written in between is lost.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/temp_directory.h"

namespace fleetmark::test {

class StderrLog {
 public:
  StderrLog() : before_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) {
    std::fflush(stderr);
    const int file = open(path().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (before_ < 0 || file < 0 || dup2(file, STDERR_FILENO) < 0) std::abort();
    close(file);
  }
  ~StderrLog() {
    std::fflush(stderr);
    dup2(before_, STDERR_FILENO);
    close(before_);
  }
  StderrLog(const StderrLog&) = delete;
  StderrLog& operator=(const StderrLog&) = delete;

  std::string text() const {
    std::ifstream file(path());
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  bool Has(const std::string& part) const { return text().find(part) != std::string::npos; }

 private:
  std::string path() const { return directory_ / "stderr"; }
  const TempDirectory directory_;
  const int before_;
};

}  // namespace fleetmark::test
