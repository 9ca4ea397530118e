// NewDirectories: directories that go away again unless what they were made for succeeds.
//
// A local of whoever joins a fleet. The destructor removes, newest first, those that Make made and that are empty;
// Keep() ends that. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace fleetmark {

class NewDirectories {
 public:
  NewDirectories() = default;
  NewDirectories(const NewDirectories&) = delete;
  NewDirectories& operator=(const NewDirectories&) = delete;
  ~NewDirectories();

  // As MakePrivateDirectory: missing parents too, 0700; one that exists is left as it is.
  absl::Status Make(const std::string& path);
  void Keep() { made_.clear(); }

 private:
  std::vector<std::string> made_;  // parents first
};

}  // namespace fleetmark
