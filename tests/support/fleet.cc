#include "tests/support/fleet.h"

#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/postgres.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::test {
namespace {

constexpr absl::Duration kStart = absl::Minutes(2);
constexpr absl::Duration kStop = absl::Seconds(30);

std::vector<Fleet*>& AllFleets() {
  static std::vector<Fleet*>& fleets = *new std::vector<Fleet*>();
  return fleets;
}

[[noreturn]] void GiveUpFleet(const std::string& what) {
  std::fprintf(stderr, "tests/support/fleet: %s\n", what.c_str());
  std::abort();
}

// Mode by mode whatever the umask: another user, under whom a private PostgreSQL may run, must pass.
void MakeDirectory(const std::string& path, mode_t mode = 0755) {
  if (mkdir(path.c_str(), mode) != 0 || chmod(path.c_str(), mode) != 0) GiveUpFleet("mkdir " + path);
}

std::vector<std::string> EntriesOf(const std::string& directory) {
  std::vector<std::string> entries;
  std::error_code ignored;
  for (std::filesystem::recursive_directory_iterator at(directory, ignored), end; at != end; at.increment(ignored)) {
    entries.push_back(at->path().string());
  }
  return entries;
}

std::string LineWith(const std::string& text, const std::string& key) {
  for (const auto& line : absl::StrSplit(text, '\n')) {
    if (line.substr(0, key.size()) == key) return std::string(line.substr(key.size()));
  }
  return "";
}

}  // namespace

std::string Program(const std::string& name) {
  const char* directory = std::getenv("FLEETMARK_BIN_DIR");
  if (directory == nullptr) GiveUpFleet("FLEETMARK_BIN_DIR is not set: the directory of the built programs");
  return absl::StrCat(directory, "/", name);
}

// ---- collector ----

FleetCollector::FleetCollector(Fleet& fleet, int number, std::string database)
    : fleet_(fleet), directory_(absl::StrCat(fleet.root(), "/c", number)), database_(std::move(database)) {
  MakeDirectory(directory_);
  MakeDirectory(directory_ + "/home", 0700);
}

Launch FleetCollector::MakeLaunch(const std::vector<std::string>& arguments) const {
  Launch launch;
  launch.arguments = {Program("fleetmark-collector")};
  launch.arguments.insert(launch.arguments.end(), arguments.begin(), arguments.end());
  for (const auto& [flag, value] : {std::pair("--state-dir", state()), std::pair("--config-dir", config())}) {
    if (std::count(arguments.begin(), arguments.end(), flag) > 0) continue;
    launch.arguments.insert(launch.arguments.end(), {flag, value});
  }
  launch.environment = fleet_.Environment(directory_ + "/home");
  launch.umask = fleet_.options().umask;
  if (fleet_.network() != nullptr) launch.network = fleet_.network()->centre().name;
  return launch;
}

bool FleetCollector::Start() {
  const std::string any = fleet_.network() != nullptr ? fleet_.network()->centre().address + ":0" : "127.0.0.1:0";
  std::vector<std::string> arguments = {"start", "--listen", address_.empty() ? any : address_, "--enroll-listen",
                                        enroll_address_.empty() ? any : enroll_address_};
  if (!database_.empty()) arguments.insert(arguments.end(), {"--database", database_});
  arguments.insert(arguments.end(), flags_.begin(), flags_.end());
  Launch launch = MakeLaunch(arguments);
  launch.log = log_path();
  const std::string ready = state() + "/ready";
  process_ = std::make_unique<Process>(launch);
  killed_ = false;
  const std::string mine = absl::StrCat("pid ", process_->pid(), "\n");
  const bool there =
      WaitUntil([&] { return !process_->running() || ReadWholeFile(ready).substr(0, mine.size()) == mine; }, kStart);
  if (!there || !process_->running()) return false;
  const std::string text = ReadWholeFile(ready);
  address_ = LineWith(text, "address ");
  enroll_address_ = LineWith(text, "enrollment ");
  return true;
}

int FleetCollector::Stop() {
  if (process_ == nullptr) return 0;
  process_->Send(SIGTERM);
  return process_->WaitOrKill(kStop);
}

void FleetCollector::Kill() {
  killed_ = true;
  process_->Send(SIGKILL);
  process_->WaitOrKill(kStop);
}

std::string FleetCollector::database() const {
  if (!database_.empty()) return database_;
  return absl::StrCat("host='", state(), "/postgres-socket' port=5432 user=fleetmark dbname=postgres");
}

// ---- host ----

FleetHost::FleetHost(Fleet& fleet, std::string name, std::optional<Network::Place> place)
    : fleet_(fleet), name_(std::move(name)), directory_(fleet.root() + "/" + name_), place_(std::move(place)) {
  MakeDirectory(directory_);
  for (const char* part : {"/home", "/run", "/target", "/config"}) MakeDirectory(directory_ + part, 0700);
}

Launch FleetHost::Agent(const std::string& command, const std::vector<std::string>& words) const {
  Launch launch;
  launch.arguments = {Program("fleetmark-agent"), command, "--state-dir", state(), "--config", config()};
  launch.arguments.insert(launch.arguments.end(), words.begin(), words.end());
  launch.environment = fleet_.Environment(directory_ + "/home");
  launch.environment["XDG_RUNTIME_DIR"] = directory_ + "/run";
  // As on a machine of its own nobody else's measurement is waited for.
  launch.own_locks = geteuid() == 0;
  launch.umask = fleet_.options().umask;
  if (place_.has_value()) {
    launch.network = place_->name;
    launch.host_name = name_;
  }
  return launch;
}

absl::Status FleetHost::Join() {
  const Finished invited = fleet_.Cli({"hosts", "invite", "--line-only"});
  if (invited.exit_code != 0) return absl::InternalError("hosts invite: " + invited.errors);
  const std::string line = invited.output.substr(0, invited.output.find('\n'));
  const Finished joined = RunToEnd(Agent("join", {line}));
  if (joined.exit_code != 0) return absl::InternalError("join: " + joined.errors);
  const size_t open = joined.output.find(" (");
  const size_t close = joined.output.find(')', open);
  if (open == std::string::npos || close == std::string::npos) return absl::InternalError(joined.output);
  id_ = joined.output.substr(open + 2, close - open - 2);
  if (joined.output.substr(0, open) == "joined as " + name_) return absl::OkStatus();
  const Finished renamed = fleet_.Cli({"hosts", "rename", id_, "--", name_});
  return renamed.exit_code == 0 ? absl::OkStatus() : absl::InternalError("hosts rename: " + renamed.errors);
}

void FleetHost::Start() {
  Launch launch = Agent("start");
  launch.log = log_path();
  process_ = std::make_unique<Process>(launch);
}

int FleetHost::Stop() {
  if (process_ == nullptr) return 0;
  process_->Send(SIGTERM);
  return process_->WaitOrKill(kStop);
}

void FleetHost::Kill() {
  process_->Send(SIGKILL);
  process_->WaitOrKill(kStop);
}

std::vector<std::string> FleetHost::LogLines(const std::string& text) const {
  std::vector<std::string> lines;
  for (const auto& line : absl::StrSplit(log(), '\n')) {
    if (line.find(absl::string_view(text)) != absl::string_view::npos) lines.emplace_back(line);
  }
  return lines;
}

void FleetHost::AddToConfig(const std::string& text) { WriteFile(config(), ReadWholeFile(config()) + text + "\n"); }

void FleetHost::SetCollectors(const std::vector<std::string>& addresses) {
  std::string text;
  for (const auto& line : absl::StrSplit(ReadWholeFile(config()), '\n')) {
    if (line.find("collectors:") == absl::string_view::npos) absl::StrAppend(&text, line, "\n");
  }
  for (const std::string& address : addresses) absl::StrAppend(&text, "collectors: \"", address, "\"\n");
  WriteFile(config(), text);
}

std::vector<std::string> FleetHost::Scratch() const {
  std::vector<std::string> left = EntriesOf(target());
  for (const std::string& note : EntriesOf(state() + "/manifests")) left.push_back(note);
  return left;
}

// ---- fleet ----

Fleet::Fleet(const FleetOptions& options)
    : options_(options), directory_(DirectoryOnDisk(), "fleetmark \xc3\xa9."), root_(directory_.path()) {
  AdoptOrphans();
  known_ = LiveDescendants();
  AllFleets().push_back(this);
  if (chmod(root_.c_str(), 0755) != 0) GiveUpFleet("chmod " + root_);
  MakeDirectory(root_ + "/home", 0700);
  if (options_.machines) {
    absl::StatusOr<std::unique_ptr<Network>> network = Network::Make();
    if (network.ok()) {
      network_ = *std::move(network);
    } else {
      machines_refused_ = std::string(network.status().message());
      std::fprintf(stderr, "hosts share this machine's network and name: %s\n", machines_refused_.c_str());
    }
  }
  collectors_.push_back(std::make_unique<FleetCollector>(*this, 0, options_.database));
  if (!collectors_[0]->Start()) GiveUpFleet("the collector does not start: " + collectors_[0]->log());
}

Fleet::~Fleet() {
  Stop();
  for (const pid_t pid : Processes()) kill(pid, SIGKILL);
  WaitUntil([&] { return Processes().empty(); }, kStop);
  std::erase(AllFleets(), this);
  hosts_.clear();
  collectors_.clear();
  network_.reset();
}

absl::Status Fleet::AddCollector() {
  const Finished invited = Cli({"collectors", "invite", "--line-only"});
  if (invited.exit_code != 0) return absl::InternalError("collectors invite: " + invited.errors);
  auto& added = *collectors_.emplace_back(
      std::make_unique<FleetCollector>(*this, static_cast<int>(collectors_.size()), collectors_[0]->database()));
  const std::string line = invited.output.substr(0, invited.output.find('\n'));
  const Finished joined = RunToEnd(added.MakeLaunch({"join", line}));
  if (joined.exit_code != 0) return absl::InternalError("collector join: " + joined.errors);
  return added.Start() ? absl::OkStatus() : absl::InternalError(added.log());
}

FleetHost& Fleet::AddHost(const std::string& name, const std::string& more_config) {
  std::optional<Network::Place> place;
  if (network_ != nullptr) {
    absl::StatusOr<Network::Place> made = network_->AddHost();
    if (!made.ok()) GiveUpFleet(std::string(made.status().message()));
    place = *std::move(made);
  }
  FleetHost& host = *hosts_.emplace_back(std::make_unique<FleetHost>(*this, name, place));
  // Room for the tests' small files is enough, whatever this disk holds.
  WriteFile(host.config(), absl::StrCat("targets { name: \"default\" path: \"", host.target(),
                                        "\" is_default: true }\nmin_free_bytes: \"1MiB\"\n", more_config, "\n"));
  if (const absl::Status joined = host.Join(); !joined.ok()) GiveUpFleet(std::string(joined.message()));
  host.Start();
  if (!WaitConnected(name)) GiveUpFleet("host " + name + " does not connect:\n" + Logs());
  return host;
}

FleetHost& Fleet::host(const std::string& name) {
  for (const auto& host : hosts_) {
    if (host->name() == name) return *host;
  }
  GiveUpFleet("no host " + name);
}

bool Fleet::WaitConnected(const std::string& host, bool connected, absl::Duration timeout) {
  return WaitUntil(
      [&] {
        v1::ListHostsResponse list;
        if (!CliJson({"hosts"}, list).ok()) return false;
        return std::any_of(list.hosts().begin(), list.hosts().end(),
                           [&](const v1::Host& each) { return each.name() == host && each.connected() == connected; });
      },
      timeout, absl::Milliseconds(50));
}

Launch Fleet::CliLaunch(const std::vector<std::string>& words) const {
  Launch launch;
  launch.arguments = {Program("fleetmark"), "--config-dir", collectors_[0]->config()};
  launch.arguments.insert(launch.arguments.end(), words.begin(), words.end());
  launch.environment = Environment(root_ + "/home");
  launch.umask = options_.umask;
  if (network_ != nullptr) launch.network = network_->centre().name;
  return launch;
}

Finished Fleet::Cli(const std::vector<std::string>& words, absl::Duration timeout) const {
  return RunToEnd(CliLaunch(words), timeout);
}

std::unique_ptr<Process> Fleet::CliStart(const std::vector<std::string>& words) const {
  return std::make_unique<Process>(CliLaunch(words));
}

absl::Status Fleet::CliJson(std::vector<std::string> words, google::protobuf::Message& message) const {
  // Before a "--", which ends the options.
  words.insert(std::find(words.begin(), words.end(), "--"), "--json");
  const Finished finished = Cli(words);
  const auto parsed = google::protobuf::util::JsonStringToMessage(finished.output, &message);
  if (finished.exit_code == 0 && parsed.ok()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("exit code ", finished.exit_code, "\n", finished.errors, finished.output,
                                          parsed.ok() ? "" : parsed.ToString()));
}

v1::Run Fleet::Run(int64_t id) const {
  v1::Run run;
  if (!CliJson({"runs", "show", absl::StrCat(id)}, run).ok()) run.Clear();
  return run;
}

int64_t Fleet::StartRun(std::vector<std::string> words) const {
  words.insert(words.begin(), "run");
  words.push_back("--detach");
  v1::Run run;
  const absl::Status status = CliJson(words, run);
  if (!status.ok()) std::fprintf(stderr, "run: %s\n", std::string(status.message()).c_str());
  return run.id();
}

v1::Run Fleet::WaitForRun(int64_t id, absl::Duration timeout) const {
  v1::Run run;
  WaitUntil(
      [&] {
        run = Run(id);
        return run.has_finished_unix_seconds() && run.state() != v1::RUN_STATE_RUNNING;
      },
      timeout, absl::Milliseconds(100));
  return run;
}

bool Fleet::WaitForRepetitions(int64_t run, int count, absl::Duration timeout) const {
  const std::string question = absl::StrCat(
      "SELECT count(*) FROM fleetmark.repetition r JOIN fleetmark.task t ON t.id = r.task_id WHERE t.run_id = ", run);
  return WaitUntil([&] { return std::atoi(testing::SqlValue(collectors_[0]->database(), question).c_str()) >= count; },
                   timeout);
}

std::vector<pid_t> Fleet::Programs() const {
  std::vector<pid_t> pids;
  for (const auto& host : hosts_) pids.push_back(host->pid());
  for (const auto& collector : collectors_) pids.push_back(collector->pid());
  return pids;
}

std::vector<pid_t> Fleet::Processes() const {
  std::vector<pid_t> others = known_;
  for (const Fleet* fleet : AllFleets()) {
    if (fleet == this) continue;
    for (const pid_t pid : fleet->Programs()) others.push_back(pid);
  }
  return LiveDescendants(others);
}

void Fleet::Stop() {
  for (const auto& host : hosts_) host->Stop();
  for (const auto& collector : collectors_) collector->Stop();
}

std::vector<std::string> Fleet::Leftovers() const {
  std::vector<std::string> left;
  for (const pid_t pid : Processes()) left.push_back(absl::StrCat("process ", pid, ": ", CommandLineOf(pid)));
  for (const std::string& entry : EntriesOf(root_)) {
    struct stat info = {};
    if (lstat(entry.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) left.push_back("socket " + entry);
  }
  const auto all_of = [&](const std::string& directory) {
    for (const std::string& entry : EntriesOf(directory)) left.push_back("file " + entry);
  };
  all_of(root_ + "/home");
  for (const auto& collector : collectors_) {
    if (collector->killed()) continue;
    if (FILE* ready = std::fopen((collector->state() + "/ready").c_str(), "re")) {
      std::fclose(ready);
      left.push_back("file " + collector->state() + "/ready");
    }
  }
  for (const auto& host : hosts_) {
    for (const std::string& entry : host->Scratch()) left.push_back("scratch " + entry);
    all_of(host->directory() + "/home");
    all_of(host->directory() + "/run");
  }
  return left;
}

std::map<std::string, std::string> Fleet::Environment(const std::string& home) const {
  std::map<std::string, std::string> environment = options_.environment;
  const char* path = std::getenv("PATH");
  environment["PATH"] = path != nullptr ? path : "/usr/bin:/bin";
  environment["HOME"] = home;
  // What the loader and the sanitizers need.
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  return environment;
}

std::string Fleet::Logs() const {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& log) {
    constexpr size_t kMost = 6000;
    absl::StrAppend(&text, "---- ", name, "\n", log.size() > kMost ? log.substr(log.size() - kMost) : log);
  };
  for (size_t i = 0; i < collectors_.size(); ++i) add(absl::StrCat("collector ", i), collectors_[i]->log());
  for (const auto& host : hosts_) add("agent " + host->name(), host->log());
  return text;
}

}  // namespace fleetmark::test
