// The suite files that come with the collector, as they are in collector/suites. Private to that folder and its tests.
#pragma once

#include <string>
#include <vector>

namespace fleetmark::collector {

struct SuiteFile {
  std::string name;
  std::string text;
};

const std::vector<SuiteFile>& ShippedSuiteFiles();

}  // namespace fleetmark::collector
