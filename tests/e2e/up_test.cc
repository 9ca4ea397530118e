// ./deploy/up as it is typed, on the programs of this build: started, started again, stopped, removed. As root in a
// mount namespace in which /var/lib and /etc are copies on write, so that a fleetmark of this machine is not touched.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/support/process.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kSource[] = FLEETMARK_SOURCE_DIR;

// A socket that listens on this port of all addresses; -1: the port is taken.
int Listen(int port) {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<uint16_t>(port));
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(fd, 1) == 0) return fd;
  close(fd);
  return -1;
}

// The first of two neighbours that are free.
int FreePorts() {
  for (int port = 20000 + getpid() % 4000 * 2; port < 32000; port += 2) {
    const int first = Listen(port), second = Listen(port + 1);
    if (first >= 0) close(first);
    if (second >= 0) close(second);
    if (first >= 0 && second >= 0) return port;
  }
  ADD_FAILURE() << "no two free ports";
  return 0;
}

class UpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::error_code missing;
    if (!std::filesystem::equivalent(FLEETMARK_BINARY_DIR, absl::StrCat(kSource, "/build/release"), missing)) {
      GTEST_SKIP() << "./deploy/up runs what build/release holds, and this is another build";
    }
    AdoptOrphans();
    before_ = LiveDescendants();
    if (geteuid() == 0) {
      HoldNamespace();
    } else {
      state_ = directory_ / "home/.local/state/fleetmark";
      config_ = directory_ / "home/.config/fleetmark";
    }
    std::filesystem::create_directory(directory_ / "home");
  }

  void TearDown() override {  // what a failed test left
    if (!IsSkipped()) {
      for (const pid_t pid : LiveDescendants(before_)) kill(pid, SIGKILL);
    }
  }

  void HoldNamespace() {
    std::filesystem::permissions(directory_.path(), std::filesystem::perms(0711));  // PostgreSQL's user must pass
    std::string script = "set -e; mkdir -p";
    for (const char* part : {"lib", "etc"}) {
      absl::StrAppend(&script, " ", directory_ / part, ".new ", directory_ / part, ".work");
    }
    for (const auto& [from, part] : {std::pair("/var/lib", "lib"), std::pair("/etc", "etc")}) {
      absl::StrAppend(&script, "; mount -t overlay -o lowerdir=", from, ",upperdir=", directory_ / part,
                      ".new,workdir=", directory_ / part, ".work overlay ", from);
    }
    absl::StrAppend(&script, "; rm -rf /var/lib/fleetmark /etc/fleetmark; echo ready; exec sleep 1800");
    Launch hold;
    hold.arguments = {"/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script};
    hold.environment = {{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}};
    namespace_ = std::make_unique<Process>(hold);
    if (!WaitUntil([&] { return !namespace_->output().empty() || !namespace_->running(); }) || !namespace_->running()) {
      GTEST_SKIP() << "no copies on write of /var/lib and /etc here: " << namespace_->errors();
    }
    before_.push_back(namespace_->pid());
    state_ = "/var/lib/fleetmark";
    config_ = "/etc/fleetmark";
  }

  Finished Run(std::vector<std::string> words) {
    if (namespace_ != nullptr) {
      const std::vector<std::string> enter = {"/usr/bin/nsenter", "--mount", "--target",
                                              absl::StrCat(namespace_->pid()), absl::StrCat("--wd=", kSource)};
      words.insert(words.begin(), enter.begin(), enter.end());
    }
    Launch launch;
    launch.arguments = std::move(words);
    launch.environment = {{"PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                          {"HOME", directory_ / "home"},
                          {"LC_ALL", "C.UTF-8"},
                          {"FLEETMARK_PORT", absl::StrCat(port_)}};
    launch.directory = kSource;
    return RunToEnd(launch, absl::Minutes(5));
  }
  Finished Up(std::vector<std::string> words) {
    // Nothing is installed: as root that would be half in the namespace, half in the machine.
    words.insert(words.begin(), {absl::StrCat(kSource, "/deploy/up"), "--no-build"});
    return Run(words);
  }
  std::string HostId() {
    const Finished hosts = Run({FLEETMARK_BINARY_DIR "/bin/fleetmark", "hosts", "--output", "json"});
    const std::string_view key = "\"id\": \"";
    const size_t at = hosts.output.find(key);
    if (at == std::string::npos) return hosts.output + hosts.errors;
    const size_t begin = at + key.size();
    return hosts.output.substr(begin, hosts.output.find('"', begin) - begin);
  }
  bool Exists(const std::string& path) { return Run({"/usr/bin/test", "-e", path}).exit_code == 0; }

  TempDirectory directory_{DirectoryOnDisk()};
  std::unique_ptr<Process> namespace_;
  std::vector<pid_t> before_;
  int port_ = FreePorts();
  std::string state_, config_;
};

TEST_F(UpTest, StartsSaysWhatRunsStopsAndRemoves) {
  const Finished first = Up({"--no-run"});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_THAT(first.errors, AllOf(HasSubstr("Started the collector (pid "), HasSubstr("Started the agent (pid "),
                                  HasSubstr(absl::StrCat("port ", port_)), HasSubstr("What next:")));
  const Finished again = Up({"--no-run"});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_THAT(again.errors, AllOf(HasSubstr("The collector is running (pid "), HasSubstr("The agent is running (pid "),
                                  Not(HasSubstr("Started"))));
  const std::string id = HostId();
  EXPECT_EQ(id.size(), 36u) << id;

  const Finished kept = Up({"--purge"});  // nobody types yes
  EXPECT_EQ(kept.exit_code, 1);
  EXPECT_THAT(kept.errors, AllOf(HasSubstr(state_), HasSubstr(config_), HasSubstr("Nothing was removed.")));
  EXPECT_THAT(Up({"--no-run"}).errors, HasSubstr("The agent is running"));

  const Finished stopped = Up({"--stop"});
  EXPECT_EQ(stopped.exit_code, 0);
  EXPECT_THAT(stopped.errors, AllOf(HasSubstr("Stopped the agent"), HasSubstr("Stopped the collector")));
  EXPECT_THAT(LiveDescendants(before_), IsEmpty()) << "PostgreSQL included";
  EXPECT_THAT(Up({"--stop"}).errors, HasSubstr("Nothing that this command started is running."));

  // What was kept is used again.
  const Finished later = Up({"--no-run"});
  EXPECT_EQ(later.exit_code, 0) << later.errors;
  EXPECT_EQ(HostId(), id);
  const Finished removed = Up({"--purge", "--yes"});
  EXPECT_EQ(removed.exit_code, 0) << removed.errors;
  EXPECT_THAT(LiveDescendants(before_), IsEmpty());
  EXPECT_FALSE(Exists(state_));
  EXPECT_FALSE(Exists(config_));
}

TEST_F(UpTest, APortInUseIsNamedAndNothingStays) {
  const int taken = Listen(port_);
  ASSERT_GE(taken, 0);
  const Finished up = Up({"--no-run"});
  close(taken);
  EXPECT_EQ(up.exit_code, 1);
  EXPECT_THAT(up.errors, AllOf(HasSubstr(absl::StrCat(port_)), HasSubstr("in use"), HasSubstr("did not start")));
  EXPECT_THAT(LiveDescendants(before_), IsEmpty());
  EXPECT_FALSE(Exists(state_ + "/collector.pid"));
}

TEST_F(UpTest, AnotherPortThanBeforeIsRefused) {
  ASSERT_EQ(Up({"--no-run"}).exit_code, 0);
  EXPECT_EQ(Up({"--stop"}).exit_code, 0);
  const int before = std::exchange(port_, port_ + 2);
  const Finished up = Up({"--no-run"});
  EXPECT_EQ(up.exit_code, 1);
  EXPECT_THAT(up.errors, HasSubstr(absl::StrCat("was set up on port ", before)));
  EXPECT_THAT(LiveDescendants(before_), IsEmpty());
}

TEST_F(UpTest, AnUnknownOptionIsAUsageError) {
  const Finished up = Up({"--stpo"});
  EXPECT_EQ(up.exit_code, 2);
  EXPECT_THAT(up.errors, AllOf(HasSubstr("--stpo"), HasSubstr("--help")));
}

}  // namespace
}  // namespace fleetmark::test
