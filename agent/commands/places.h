// Where the agent's files lie, as the command line says or by default.
#pragma once

#include <string>

#include "agent/agent.h"
#include "agent/config/agent_config.h"

namespace fleetmark::agent {

struct Places {
  std::string config_path;      // "": the default
  std::string state_directory;  // "": the default

  std::string Config() const { return config_path.empty() ? DefaultConfigPath() : config_path; }
  std::string State() const { return state_directory.empty() ? DefaultStateDirectory() : state_directory; }
};

}  // namespace fleetmark::agent
