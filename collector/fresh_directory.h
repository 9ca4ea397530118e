// FreshDirectory: a directory that goes away again unless what it was made for succeeds.
//
// Construct it before the directory is made. The destructor removes what was not there then: the named files in it, and
// it and its parents where they are empty. Keep() ends that. Not thread-safe.
#pragma once

#include <string>
#include <vector>

namespace fleetmark::collector {

class FreshDirectory {
 public:
  FreshDirectory(const std::string& path, const std::vector<std::string>& files);
  FreshDirectory(const FreshDirectory&) = delete;
  FreshDirectory& operator=(const FreshDirectory&) = delete;
  ~FreshDirectory();

  void Keep();

 private:
  std::vector<std::string> files_;        // not there yet
  std::vector<std::string> directories_;  // not there yet, innermost first
};

}  // namespace fleetmark::collector
