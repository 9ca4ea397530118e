#include "agent/config/agent_config.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/config/text_proto.h"
#include "common/text/text.h"
#include "common/units/parse.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace fleetmark::agent {
namespace {

using google::protobuf::TextFormat;

// $`variable`, or the default below the home directory; relative values do not count (XDG).
std::string XdgDirectory(const char* variable, const char* below_home) {
  const char* value = std::getenv(variable);
  if (value != nullptr && value[0] == '/') return value;
  const char* home = std::getenv("HOME");
  return absl::StrCat(home != nullptr ? home : "", "/", below_home);
}

// A value that is not right, with the place it stands at.
class Problems {
 public:
  Problems(const std::string& name, const TextFormat::ParseInfoTree* locations) : name_(name), locations_(locations) {}

  void Add(const char* field, int index, const std::string& reason) { AddAt(locations_, Field(field), index, reason); }

  void AddInTarget(int target, const char* field, const std::string& reason) {
    const TextFormat::ParseInfoTree* tree =
        locations_ == nullptr ? nullptr : locations_->GetTreeForNested(Field("targets"), target);
    const auto* nested = v1::TargetConfig::descriptor()->FindFieldByName(field);
    if (tree != nullptr && tree->GetLocation(nested, -1).line >= 0) return AddAt(tree, nested, -1, reason);
    AddAt(locations_, Field("targets"), target, reason);
  }

  absl::Status status() const { return text_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(text_); }

 private:
  static const google::protobuf::FieldDescriptor* Field(const char* name) {
    return v1::AgentConfig::descriptor()->FindFieldByName(name);
  }

  void AddAt(const TextFormat::ParseInfoTree* tree, const google::protobuf::FieldDescriptor* field, int index,
             const std::string& reason) {
    if (!text_.empty()) text_ += "; ";
    absl::StrAppend(&text_, name_);
    if (tree != nullptr) {
      const TextFormat::ParseLocation location = tree->GetLocation(field, index);
      if (location.line >= 0) absl::StrAppend(&text_, ":", location.line + 1, ":", location.column + 1);
    }
    absl::StrAppend(&text_, ": ", reason);
  }

  const std::string& name_;
  const TextFormat::ParseInfoTree* locations_;
  std::string text_;
};

void ParseSize(const char* field, const std::string& text, std::optional<double>& value, Problems& problems) {
  if (text.empty()) return;
  const absl::StatusOr<int64_t> parsed = ParseWholeQuantity(text, Unit::kBytes);
  if (parsed.ok()) {
    value = static_cast<double>(*parsed);
  } else {
    problems.Add(field, -1, absl::StrCat(field, ": ", std::string(parsed.status().message())));
  }
}

AgentLimits ReadLimits(const v1::AgentConfig& config, Problems& problems) {
  AgentLimits limits;
  ParseSize("max_bytes", config.max_bytes(), limits.max_bytes, problems);
  ParseSize("min_free_bytes", config.min_free_bytes(), limits.min_free_bytes, problems);
  std::optional<double> spool;
  ParseSize("spool_capacity", config.spool_capacity(), spool, problems);
  if (spool.has_value()) {
    if (*spool < 1024 * 1024) problems.Add("spool_capacity", -1, "spool_capacity: must be at least 1MiB");
    limits.spool_capacity_bytes = *spool;
  }
  if (!config.max_duration().empty()) {
    const absl::StatusOr<absl::Duration> parsed = ParseDuration(config.max_duration());
    if (!parsed.ok()) {
      problems.Add("max_duration", -1, absl::StrCat("max_duration: ", std::string(parsed.status().message())));
    } else if (*parsed <= absl::ZeroDuration()) {
      problems.Add("max_duration", -1, "max_duration: must be longer than 0");
    } else {
      limits.max_duration = *parsed;
    }
  }
  limits.max_threads = config.max_threads();
  return limits;
}

void CheckTargets(const v1::AgentConfig& config, Problems& problems) {
  std::set<std::string> names;
  bool has_default = false;
  for (int i = 0; i < config.targets_size(); ++i) {
    const v1::TargetConfig& target = config.targets(i);
    if (target.name().empty() || target.name() != EscapeForTerminal(target.name())) {
      problems.AddInTarget(i, "name", "a target needs a name without control characters");
    } else if (!names.insert(target.name()).second) {
      problems.AddInTarget(i, "name", absl::StrCat("a second target is named \"", target.name(), "\""));
    }
    if (target.path().empty() || target.path().front() != '/') {
      problems.AddInTarget(i, "path",
                           absl::StrCat("the path of target \"", target.name(), "\" must be absolute, not \"",
                                        EscapeForTerminal(target.path()), "\""));
    }
    if (target.is_default() && has_default) {
      problems.AddInTarget(i, "is_default", "only one target can be the default");
    }
    has_default = has_default || target.is_default();
  }
}

absl::Status Validate(const v1::AgentConfig& config, const std::string& name,
                      const TextFormat::ParseInfoTree* locations) {
  Problems problems(name, locations);
  ReadLimits(config, problems);
  CheckTargets(config, problems);
  for (int i = 0; i < config.workloads_size(); ++i) {
    if (config.workloads(i).empty()) problems.Add("workloads", i, "workloads: an empty name allows nothing");
  }
  return problems.status();
}

bool MatchesPattern(std::string_view pattern, std::string_view text) {
  while (!pattern.empty() && pattern.front() != '*') {
    if (text.empty() || text.front() != pattern.front()) return false;
    pattern.remove_prefix(1);
    text.remove_prefix(1);
  }
  if (pattern.empty()) return text.empty();
  for (size_t skip = 0; skip <= text.size(); ++skip) {
    if (MatchesPattern(pattern.substr(1), text.substr(skip))) return true;
  }
  return false;
}

}  // namespace

std::string DefaultConfigPath() {
  if (::geteuid() == 0) return "/etc/fleetmark/agent.textproto";
  return XdgDirectory("XDG_CONFIG_HOME", ".config") + "/fleetmark/agent.textproto";
}

std::string DefaultStateDirectory() {
  if (::geteuid() == 0) return "/var/lib/fleetmark/agent";
  return XdgDirectory("XDG_STATE_HOME", ".local/state") + "/fleetmark/agent";
}

absl::StatusOr<v1::AgentConfig> ParseAgentConfig(std::string_view text, const std::string& name,
                                                 std::vector<std::string>* warnings, bool strict) {
  v1::AgentConfig config;
  TextProtoOptions options;
  options.unknown_is_error = strict;
  const absl::Status parsed = ParseTextProto(text, name, config, options, warnings);
  if (!parsed.ok()) return parsed;
  // Once more for the places of the values, which the first reading does not keep. What it warned about is known.
  v1::AgentConfig again;
  TextFormat::ParseInfoTree locations;
  TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.WriteLocationsTo(&locations);
  struct Silent : google::protobuf::io::ErrorCollector {
    void AddError(int, int, const std::string&) override {}
    void AddWarning(int, int, const std::string&) override {}
  } silent;
  parser.RecordErrorsTo(&silent);
  const bool located = parser.ParseFromString(std::string(text), &again);
  const absl::Status valid = Validate(config, name, located ? &locations : nullptr);
  if (!valid.ok()) return valid;
  return config;
}

absl::StatusOr<v1::AgentConfig> LoadAgentConfig(const std::string& path, std::vector<std::string>* warnings,
                                                bool strict) {
  // Read by the common loader first: its messages name path and reason for every way a file cannot be read.
  v1::AgentConfig config;
  std::vector<std::string> unused;
  TextProtoOptions options;
  options.unknown_is_error = strict;
  const absl::Status loaded = LoadTextProto(path, config, options, &unused);
  if (!loaded.ok()) return loaded;
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char buffer[16384];
  ssize_t count = 0;
  while (fd >= 0 && (count = ::read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<size_t>(count));
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (fd < 0 || count < 0) return absl::UnavailableError(absl::StrCat("read ", path, ": ", strerror(error)));
  return ParseAgentConfig(text, path, warnings, strict);
}

absl::StatusOr<AgentLimits> LimitsOf(const v1::AgentConfig& config) {
  const std::string name = "configuration";
  Problems problems(name, nullptr);
  AgentLimits limits = ReadLimits(config, problems);
  const absl::Status status = problems.status();
  if (!status.ok()) return status;
  return limits;
}

bool IsWorkloadAllowed(const v1::AgentConfig& config, const std::string& name) {
  if (config.workloads().empty()) return true;
  for (const std::string& pattern : config.workloads()) {
    if (MatchesPattern(pattern, name)) return true;
  }
  return false;
}

absl::StatusOr<v1::TargetConfig> FindTarget(const v1::AgentConfig& config, const std::string& name) {
  for (const v1::TargetConfig& target : config.targets()) {
    if (name.empty() ? target.is_default() || config.targets_size() == 1 : target.name() == name) return target;
  }
  if (name.empty()) {
    return absl::NotFoundError(
        config.targets().empty()
            ? "this host's configuration names no target; allow one there: targets { name: \"ssd\" path: \"/mnt/ssd\" }"
            : "none of this host's targets is the default; mark one in its configuration with is_default: true, or "
              "choose one");
  }
  std::vector<std::string> names;
  for (const v1::TargetConfig& target : config.targets()) names.push_back(target.name());
  const std::string shown = EscapeForTerminal(TruncateToWidth(EscapeForTerminal(name), 60));
  const std::string nearest = NearestMatch(name, names);
  return absl::NotFoundError(
      absl::StrCat("target \"", shown, "\" is not named in this host's configuration",
                   nearest.empty() ? std::string() : absl::StrCat(" (did you mean \"", nearest, "\"?)"),
                   "; to allow it add there: targets { name: \"", shown, "\" path: \"/absolute/path\" }"));
}

}  // namespace fleetmark::agent
