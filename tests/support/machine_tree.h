// MachineTree: the /proc and /sys of some machine, from one text file, unpacked into a directory of its own.
//
// The format of tests/data/linux/*.tree, line by line:
//   # a remark                       (only before the first entry)
//   == /proc/cpuinfo                 a file; the lines up to the next entry are its content
//   = /sys/.../online 0-7            a file of one line
//   => /sys/dev/block/8:1 TARGET     a symbolic link
//   / /sys/.../slaves                a directory
#pragma once

#include <string>

#include "tests/support/temp_directory.h"

namespace fleetmark::test {

class MachineTree {
 public:
  // Unpacks tests/data/linux/<machine>.tree of the source tree. Aborts on a line it does not understand.
  explicit MachineTree(const std::string& machine);

  // An empty one, for trees that a test writes itself with Add().
  MachineTree() = default;
  void Add(const std::string& text);

  const std::string& root() const { return directory_.path(); }

 private:
  TempDirectory directory_;
};

// A file below tests/data.
std::string ReadTestData(const std::string& name);

}  // namespace fleetmark::test
