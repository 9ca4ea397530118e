#include "agent/join/join.h"

#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/platform/storage_stack.h"
#include "common/config/text_proto.h"
#include "common/enroll/enroll_client.h"
#include "common/enroll/new_directories.h"
#include "common/lifecycle/directory_lock.h"
#include "common/pki/files.h"
#include "common/pki/join_line.h"
#include "fleetmark/v1/config.pb.h"
#include "google/protobuf/text_format.h"

namespace fleetmark::agent {
namespace {

constexpr const char* kHowToReset = "fleetmark-agent reset-id";

std::string ReportedHostName() {
  char name[256] = "";
  if (::gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "host";
  return name;
}

std::string Print(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return text;
}

std::string CollectorLines(const std::vector<std::string>& collectors) {
  v1::AgentConfig config;
  for (const std::string& collector : collectors) config.add_collectors(collector);
  return Print(config);
}

std::string NewConfig(const std::string& target_path, const std::vector<std::string>& collectors) {
  v1::AgentConfig config;
  v1::TargetConfig& target = *config.add_targets();
  target.set_name("default");
  target.set_path(target_path);
  target.set_is_default(true);
  return absl::StrCat(
      "# What this machine lets its fleet do. Written by `fleetmark-agent join`; edit it freely.\n"
      "# Another place to measure:  targets { name: \"ssd\" path: \"/mnt/ssd\" }\n",
      Print(config), "\n# Where the fleet's collectors listen.\n", CollectorLines(collectors));
}

// The text without its `collectors: ...` lines, comments and all else kept; nullopt if they are written in a way that
// lines cannot be taken out of.
std::optional<std::string> WithoutCollectors(const std::string& text) {
  std::string kept;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    std::string line = text.substr(at, end == std::string::npos ? std::string::npos : end - at + 1);
    at += line.size();
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || !line.substr(first).starts_with("collectors:")) kept += line;
  }
  v1::AgentConfig config;
  if (!ParseTextProto(kept, "configuration", config, {.unknown_is_error = false}).ok() ||
      config.collectors_size() > 0) {
    return std::nullopt;
  }
  if (!kept.empty() && kept.back() != '\n') kept += '\n';
  return kept;
}

absl::Status SetCollectors(const std::string& path, const std::vector<std::string>& collectors) {
  const absl::StatusOr<std::string> old = ReadSmallFile(path);
  if (!old.ok()) return old.status();
  const std::optional<std::string> kept = WithoutCollectors(*old);
  if (!kept) {
    return absl::FailedPreconditionError(absl::StrCat("this machine has joined, but ", path,
                                                      " could not be changed: set its collectors by hand to ",
                                                      absl::StrJoin(collectors, ", ")));
  }
  return ReplaceFile(path, absl::StrCat(*kept, CollectorLines(collectors)), 0644);
}

// The directory of a default target, as the configuration may hold it: absolute, without links, a place where a disk
// can be measured.
absl::StatusOr<std::string> CheckTargetPath(const std::string& typed) {
  constexpr const char* kWayOut = "; give an existing directory on the disk to measure, or leave --target out";
  char real[PATH_MAX];
  if (::realpath(typed.c_str(), real) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("join --target ", typed, ": ", std::strerror(errno), kWayOut));
  }
  const v1::Target target = DescribeTarget("default", real, true);
  std::error_code ignored;
  if (!std::filesystem::is_directory(real, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat("join --target ", typed, ": is not a directory", kWayOut));
  }
  if (!target.problem().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("join --target ", typed, ": ", target.problem(), kWayOut));
  }
  if (target.in_memory()) {
    return absl::InvalidArgumentError(absl::StrCat("join --target ", typed, ": is in memory (", target.file_system(),
                                                   "), a disk cannot be measured there", kWayOut));
  }
  return std::string(real);
}

// A configuration that is there must be readable before a token is spent on it.
absl::Status CheckConfig(const std::string& path) {
  if (!FileExists(path)) return absl::OkStatus();
  v1::AgentConfig config;
  return LoadTextProto(path, config, {.unknown_is_error = false});
}

}  // namespace

TlsFiles IdentityFiles(const std::string& state_directory) {
  const std::string directory = absl::StrCat(state_directory, "/identity/");
  return {directory + "ca.pem", directory + "agent.pem", directory + "agent.key"};
}

absl::StatusOr<Joined> JoinFleet(const JoinOptions& options) {
  Joined joined;
  joined.config_path = absl::StrCat(options.config_directory, "/", kAgentConfigFile);
  joined.config_kept = FileExists(joined.config_path);
  // Whatever can be found wrong here is, before a directory is made or a token spent.
  if (const auto line = ParseJoinLine(options.line); !line.ok()) return line.status();
  if (absl::Status status = CheckConfig(joined.config_path); !status.ok()) return status;
  if (!options.target_path.empty()) {
    if (joined.config_kept) {
      return absl::InvalidArgumentError(
          absl::StrCat("join --target ", options.target_path, ": ", joined.config_path,
                       " is there and keeps its targets; leave --target out and name the directory there"));
    }
    absl::StatusOr<std::string> target = CheckTargetPath(options.target_path);
    if (!target.ok()) return target.status();
    joined.target_path = *std::move(target);
  }
  NewDirectories directories;
  for (const std::string* directory : {&options.state_directory, &options.config_directory}) {
    if (absl::Status status = directories.Make(*directory); !status.ok()) return status;
  }
  if (!joined.config_kept && joined.target_path.empty()) {
    // The configuration holds it, so it may not depend on where the agent is started.
    joined.target_path = std::filesystem::absolute(absl::StrCat(options.state_directory, "/target")).string();
    if (absl::Status status = directories.Make(joined.target_path); !status.ok()) return status;
  }

  EnrollOptions enroll;
  enroll.line = options.line;
  enroll.kind = IdentityKind::kHost;
  enroll.reported_name = ReportedHostName();
  enroll.files = IdentityFiles(options.state_directory);
  enroll.how_to_reset = kHowToReset;
  const absl::StatusOr<EnrolledIdentity> enrolled = EnrollWithLine(enroll);
  if (!enrolled.ok()) return enrolled.status();
  directories.Keep();
  joined.host_id = enrolled->identity.id;
  joined.host_name = enrolled->name;
  joined.collectors = enrolled->collectors;

  const absl::Status status =
      joined.config_kept ? SetCollectors(joined.config_path, joined.collectors)
                         : ReplaceFile(joined.config_path, NewConfig(joined.target_path, joined.collectors), 0644);
  if (!status.ok()) return status;
  return joined;
}

std::string DescribeJoin(const Joined& joined) {
  std::string text = absl::StrCat("joined as ", joined.host_name, " (", joined.host_id,
                                  "); collectors: ", absl::StrJoin(joined.collectors, ", "), "\n");
  if (joined.config_kept) {
    absl::StrAppend(&text, joined.config_path, " is kept, with its targets; its collectors are set anew\n");
  } else {
    absl::StrAppend(&text, "wrote ", joined.config_path, ": disks are measured in ", joined.target_path,
                    " only (target \"default\"); to allow more, add there a line such as\n",
                    "  targets { name: \"ssd\" path: \"/mnt/ssd\" }\n");
  }
  return text + "Next: fleetmark-agent start\n";
}

absl::Status ResetIdentity(const std::string& state_directory) {
  const TlsFiles files = IdentityFiles(state_directory);
  const std::string spool = absl::StrCat(state_directory, "/spool.db");
  const std::string paths[] = {files.certificate_file, files.key_file, files.ca_file, spool,
                               spool + "-wal",         spool + "-shm"};
  if (!FileExists(files.certificate_file) && !FileExists(files.key_file)) {
    return absl::NotFoundError(absl::StrCat("reset-id: there is no identity in ", state_directory,
                                            "; join a fleet with: ", "fleetmark-agent join LINE"));
  }
  const absl::StatusOr<DirectoryLock> lock = DirectoryLock::Acquire(state_directory);
  if (!lock.ok()) {
    return absl::Status(lock.status().code(),
                        absl::StrCat("reset-id: stop the agent first: ", lock.status().message()));
  }
  for (const std::string& path : paths) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return absl::ErrnoToStatus(errno, absl::StrCat("reset-id: remove ", path));
  }
  return absl::OkStatus();
}

}  // namespace fleetmark::agent
