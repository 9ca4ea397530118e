// Runs a program to its end.
#pragma once

#include <string>
#include <vector>

namespace fleetmark::test {

struct ProgramResult {
  int exit_code = -1;  // 128 + signal if a signal ended it; 127 if it could not be started
  std::string output;  // stdout and stderr as they came
};

// `arguments[0]` is searched in PATH, /usr/sbin and /sbin.
ProgramResult RunProgram(const std::vector<std::string>& arguments);

}  // namespace fleetmark::test
