#include "tests/support/throttle.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fleetmark::test {
namespace {

constexpr char kRoot[] = "/sys/fs/cgroup";

absl::Status Write(const std::string& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text << std::flush;
  if (stream.good()) return absl::OkStatus();
  return absl::UnavailableError("write \"" + text + "\" to " + file + ": " + std::strerror(errno));
}

std::string Read(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// The group of this process in a hierarchy: the line of /proc/self/cgroup with this controller ("" = version 2).
std::string OwnGroup(const std::string& controller) {
  std::istringstream lines(Read("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (line.substr(first + 1, second - first - 1) == controller) return line.substr(second + 1);
  }
  return "/";
}

}  // namespace

absl::StatusOr<Throttle> Throttle::Begin(const std::string& device, uint64_t bytes_per_second) {
  std::string number = Read("/sys/class/block/" + device + "/dev");
  number.erase(number.find_last_not_of('\n') + 1);
  const std::string rate = std::to_string(bytes_per_second);
  const bool first_version = std::filesystem::exists(std::string(kRoot) + "/blkio");
  const std::string top = first_version ? std::string(kRoot) + "/blkio" : kRoot;
  if (!first_version) {
    if (absl::Status status = Write(top + "/cgroup.subtree_control", "+io"); !status.ok()) return status;
  }
  const std::string group = top + "/fleetmark-test-" + std::to_string(getpid());
  if (mkdir(group.c_str(), 0755) != 0) {
    return absl::UnavailableError("make the control group " + group + ": " + std::strerror(errno));
  }
  Throttle throttle(group, top + OwnGroup(first_version ? "blkio" : ""));
  absl::Status status;
  if (first_version) {
    status = Write(group + "/blkio.throttle.read_bps_device", number + " " + rate);
    status.Update(Write(group + "/blkio.throttle.write_bps_device", number + " " + rate));
  } else {
    status = Write(group + "/io.max", number + " rbps=" + rate + " wbps=" + rate);
  }
  status.Update(Write(group + "/cgroup.procs", "0"));
  if (!status.ok()) return status;
  return throttle;
}

Throttle::~Throttle() {
  if (group_.empty()) return;
  Write(home_ + "/cgroup.procs", "0").IgnoreError();
  rmdir(group_.c_str());
}

}  // namespace fleetmark::test
