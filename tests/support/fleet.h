// Fleet: a whole fleetmark in one directory of its own, through the three real programs: collectors, hosts with an
// agent each, and the user's command line.
//
// The programs come from $FLEETMARK_BIN_DIR. Every host has its own state, configuration, HOME and XDG_RUNTIME_DIR;
// where network namespaces were asked for and are permitted also its own network, host name and /run/lock, as machines
// have. The directory's name has a blank and a letter outside ASCII. Readiness is polled from files and through the
// command line. The test's thread owns it; the destructor ends every process by its pid and removes everything.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "fleetmark/v1/fleet.pb.h"
#include "tests/support/network.h"
#include "tests/support/process.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::test {

struct FleetOptions {
  bool machines = false;      // network namespaces, host names, locks; machines_refused() says why not
  std::string database = {};  // of the first collector; empty: its private one
  std::map<std::string, std::string> environment = {};  // of all programs, in addition
  mode_t umask = 022;
};

class Fleet;

// A collector of the fleet. start() waits until it is ready.
class FleetCollector {
 public:
  FleetCollector(Fleet& fleet, int number, std::string database);
  // False with the reason in problem() if it ends or is not ready in time. The ports stay those of the first start.
  bool Start();
  int Stop();  // SIGTERM; its exit code
  void Kill();
  bool running() const { return process_ != nullptr && process_->running(); }
  bool killed() const { return killed_; }  // the last time it ended
  pid_t pid() const { return process_ == nullptr ? -1 : process_->pid(); }
  // Further flags, from the next start on.
  void SetFlags(std::vector<std::string> flags) { flags_ = std::move(flags); }
  // Where the next start listens, instead of where the last did; empty: a port of its own.
  void Listen(const std::string& address, const std::string& enroll_address) {
    address_ = address;
    enroll_address_ = enroll_address;
  }
  const std::string& address() const { return address_; }
  const std::string& enroll_address() const { return enroll_address_; }
  std::string log() const { return ReadWholeFile(log_path()); }
  std::string log_path() const { return directory_ + "/log"; }
  std::string state() const { return directory_ + "/state"; }
  std::string config() const { return directory_ + "/config"; }
  std::string database() const;                                  // a DSN for tests
  void SetDatabase(const std::string& dsn) { database_ = dsn; }  // from the next start on
  Launch MakeLaunch(const std::vector<std::string>& arguments) const;

 private:
  Fleet& fleet_;
  const std::string directory_;
  std::string database_;
  std::string address_, enroll_address_;
  std::vector<std::string> flags_;
  bool killed_ = false;
  std::unique_ptr<Process> process_;
};

// A host of the fleet with its agent.
class FleetHost {
 public:
  FleetHost(Fleet& fleet, std::string name, std::optional<Network::Place> place);
  // Enrols it under its name.
  absl::Status Join();
  void Start();
  int Stop();
  void Kill();
  bool running() const { return process_ != nullptr && process_->running(); }
  pid_t pid() const { return process_ == nullptr ? -1 : process_->pid(); }
  std::vector<pid_t> Workers() const { return running() ? LiveChildren(pid()) : std::vector<pid_t>(); }

  const std::string& name() const { return name_; }
  const std::string& id() const { return id_; }
  std::string directory() const { return directory_; }
  std::string state() const { return directory_ + "/state"; }
  std::string config() const { return directory_ + "/config/agent.textproto"; }
  std::string target() const { return directory_ + "/target"; }
  std::string log() const { return ReadWholeFile(log_path()); }
  std::string log_path() const { return directory_ + "/log"; }
  // Lines of its log that have `text`.
  std::vector<std::string> LogLines(const std::string& text) const;
  // Appends to the configuration (before a start).
  void AddToConfig(const std::string& text);
  void SetCollectors(const std::vector<std::string>& addresses);
  // fleetmark-agent with this host's directories: `command` and further words.
  Launch Agent(const std::string& command, const std::vector<std::string>& words = {}) const;
  // Names of files in its targets, and notes about scratch: empty when nothing was left behind.
  std::vector<std::string> Scratch() const;

 private:
  Fleet& fleet_;
  const std::string name_;
  const std::string directory_;
  const std::optional<Network::Place> place_;
  std::string id_;
  std::unique_ptr<Process> process_;
};

class Fleet {
 public:
  explicit Fleet(const FleetOptions& options = {});
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // The first is made and started with the fleet. A further one joins it.
  FleetCollector& collector(size_t index = 0) { return *collectors_.at(index); }
  absl::Status AddCollector();

  // Makes, enrols and starts a host, and waits until its collector sees it.
  FleetHost& AddHost(const std::string& name, const std::string& more_config = "");
  FleetHost& host(const std::string& name);
  const std::vector<std::unique_ptr<FleetHost>>& hosts() const { return hosts_; }
  bool WaitConnected(const std::string& host, bool connected = true, absl::Duration timeout = absl::Minutes(1));

  // fleetmark with the first collector's user.
  Launch CliLaunch(const std::vector<std::string>& words) const;
  Finished Cli(const std::vector<std::string>& words, absl::Duration timeout = absl::Minutes(3)) const;
  std::unique_ptr<Process> CliStart(const std::vector<std::string>& words) const;
  // With --output json, exit code 0 and exactly one message on stdout; else an error with all that it said.
  absl::Status CliJson(std::vector<std::string> words, google::protobuf::Message& message) const;
  // The run as it is; of an id that does not exist: the default message.
  v1::Run Run(int64_t id) const;
  // `run ... --detach`; 0 if that failed.
  int64_t StartRun(std::vector<std::string> words) const;
  // Until it is final.
  v1::Run WaitForRun(int64_t id, absl::Duration timeout = absl::Minutes(2)) const;
  // Until `count` repetitions of the run are in the database.
  bool WaitForRepetitions(int64_t run, int count, absl::Duration timeout = absl::Minutes(2)) const;

  // Stops all programs, in the order agents, collectors.
  void Stop();
  // After Stop(): live processes, sockets, scratch files, notes, files in homes, namespaces. Empty: good.
  std::vector<std::string> Leftovers() const;

  const std::string& root() const { return root_; }
  const FleetOptions& options() const { return options_; }
  const std::string& machines_refused() const { return machines_refused_; }
  Network* network() const { return network_.get(); }
  std::map<std::string, std::string> Environment(const std::string& home) const;
  // Logs of all programs, for a failure's message.
  std::string Logs() const;
  // Live processes of this fleet, whoever started them.
  std::vector<pid_t> Processes() const;

 private:
  std::vector<pid_t> Programs() const;

  const FleetOptions options_;
  std::vector<pid_t> known_;
  const TempDirectory directory_;
  const std::string root_;
  std::string machines_refused_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<FleetCollector>> collectors_;
  std::vector<std::unique_ptr<FleetHost>> hosts_;
};

std::string Program(const std::string& name);  // in $FLEETMARK_BIN_DIR

}  // namespace fleetmark::test
