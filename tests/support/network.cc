#include "tests/support/network.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/support/run_program.h"

namespace fleetmark::test {
namespace {

constexpr std::string_view kPrefix = "fleetmark-e2e-";

std::string Own() { return absl::StrCat(kPrefix.data(), getpid(), "-"); }

absl::Status Ip(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "ip");
  const ProgramResult result = RunProgram(arguments);
  if (result.exit_code == 0) return absl::OkStatus();
  std::string text;
  for (const std::string& argument : arguments) absl::StrAppend(&text, argument, " ");
  return absl::FailedPreconditionError(absl::StrCat(text, "failed: ", result.output));
}

std::vector<std::string> Named(const std::string& prefix) {
  std::vector<std::string> names;
  if (DIR* directory = opendir("/run/netns")) {
    while (const dirent* entry = readdir(directory)) {
      if (std::string_view(entry->d_name).starts_with(prefix)) names.emplace_back(entry->d_name);
    }
    closedir(directory);
  }
  return names;
}

// Of test programs that were killed.
void RemoveStale() {
  for (const std::string& name : Named(std::string(kPrefix))) {
    const pid_t pid = std::atoi(name.c_str() + kPrefix.size());
    if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) Ip({"netns", "del", name}).IgnoreError();
  }
}

std::string NewName() {
  static std::atomic<int> next{0};
  return absl::StrCat(Own(), next.fetch_add(1));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> Network::Make() {
  if (geteuid() != 0) return absl::PermissionDeniedError("network namespaces need root");
  RemoveStale();
  std::unique_ptr<Network> network(new Network());
  network->centre_ = {NewName(), "10.231.0.1"};
  const std::string& centre = network->centre_.name;
  if (const absl::Status made = Ip({"netns", "add", centre}); !made.ok()) return made;
  network->names_.push_back(centre);
  for (const std::vector<std::string>& step : std::vector<std::vector<std::string>>{
           {"-n", centre, "link", "set", "lo", "up"},
           {"-n", centre, "link", "add", "switch", "type", "bridge"},
           {"-n", centre, "addr", "add", network->centre_.address + "/24", "dev", "switch"},
           {"-n", centre, "link", "set", "switch", "up"},
       }) {
    if (const absl::Status done = Ip(step); !done.ok()) return done;
  }
  return network;
}

Network::~Network() {
  for (const std::string& name : names_) Ip({"netns", "del", name}).IgnoreError();
}

absl::StatusOr<Network::Place> Network::AddHost() {
  const size_t number = names_.size();
  const Place place{NewName(), absl::StrCat("10.231.0.", 10 + number)};
  if (const absl::Status made = Ip({"netns", "add", place.name}); !made.ok()) return made;
  names_.push_back(place.name);
  const std::string port = absl::StrCat("port", number);
  for (const std::vector<std::string>& step : std::vector<std::vector<std::string>>{
           {"-n", centre_.name, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", place.name},
           {"-n", centre_.name, "link", "set", port, "master", "switch", "up"},
           {"-n", place.name, "addr", "add", place.address + "/24", "dev", "eth0"},
           {"-n", place.name, "link", "set", "lo", "up"},
           {"-n", place.name, "link", "set", "eth0", "up"},
       }) {
    if (const absl::Status done = Ip(step); !done.ok()) return done;
  }
  return place;
}

std::vector<std::string> Network::Left() { return Named(Own()); }

}  // namespace fleetmark::test
