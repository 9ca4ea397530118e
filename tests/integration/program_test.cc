// fleetmark-collector as a process: how it starts, what it says when it cannot, how it stops.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/postgres.h"
#include "tests/support/run_program.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Program() {
  const char* directory = std::getenv("FLEETMARK_BIN_DIR");
  return directory == nullptr ? "" : std::string(directory) + "/fleetmark-collector";
}

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A collector in the background, ended with the object.
class Running {
 public:
  Running(const std::vector<std::string>& arguments, const std::string& log) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    std::vector<char*> argv;
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Running() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      Wait(absl::Seconds(10));
    }
  }
  void Signal(int signal) { kill(pid_, signal); }
  // The wait status; -1: it still runs.
  int Wait(absl::Duration timeout) {
    const absl::Time give_up = absl::Now() + timeout;
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (absl::Now() > give_up) return -1;
      absl::SleepFor(absl::Milliseconds(10));
    }
    pid_ = 0;
    return status;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Program().empty() || access(Program().c_str(), X_OK) != 0) {
      GTEST_SKIP() << "no fleetmark-collector in FLEETMARK_BIN_DIR";
    }
  }

  std::string state() const { return directory_.path() + "/state"; }
  std::vector<std::string> Arguments(const std::string& dsn) const {
    return {Program(),  "start",       "--state-dir",     state(),       "--config-dir", directory_.path() + "/config",
            "--listen", "127.0.0.1:0", "--enroll-listen", "127.0.0.1:0", "--database",   dsn};
  }
  bool BecomesReady() const {
    const absl::Time give_up = absl::Now() + absl::Seconds(60);
    while (absl::Now() < give_up) {
      if (Contents(state() + "/ready").find("address") != std::string::npos) return true;
      absl::SleepFor(absl::Milliseconds(20));
    }
    ADD_FAILURE() << "not ready: " << Contents(log());
    return false;
  }
  std::string log() const { return directory_.path() + "/log"; }

  testing::SharedTempDirectory directory_;
};

TEST_F(ProgramTest, StartsSaysSoAndStopsWhenAsked) {
  Running collector(Arguments(testing::NewDatabase()), log());
  ASSERT_TRUE(BecomesReady());
  EXPECT_THAT(Contents(state() + "/ready"),
              HasSubstr("pid " + std::to_string(collector.pid()) + "\naddress 127.0.0.1:"));
  EXPECT_THAT(Contents(log()), HasSubstr("ready on 127.0.0.1:"));
  struct stat key {};
  ASSERT_EQ(stat((directory_.path() + "/config/client.key").c_str(), &key), 0) << "the local user's key";
  EXPECT_EQ(key.st_mode & 0777u, 0600u);
  collector.Signal(SIGTERM);
  EXPECT_EQ(collector.Wait(absl::Seconds(10)), 0);
  EXPECT_EQ(access((state() + "/ready").c_str(), F_OK), -1) << "no longer ready";
}

// Without a database of the user's: its own, no TCP port, gone with it.
TEST_F(ProgramTest, BringsItsOwnPostgresAndTakesItAway) {
  std::vector<std::string> arguments = Arguments("");
  arguments.resize(arguments.size() - 2);
  chmod(directory_.path().c_str(), 0755);
  Running collector(arguments, log());
  ASSERT_TRUE(BecomesReady());
  std::istringstream pid_file(Contents(state() + "/postgres/postmaster.pid"));
  pid_t postmaster = 0;
  pid_file >> postmaster;
  ASSERT_GT(postmaster, 0);
  collector.Signal(SIGTERM);
  EXPECT_EQ(collector.Wait(absl::Seconds(10)), 0);
  EXPECT_EQ(kill(postmaster, 0), -1) << "the server outlived its collector";

  // Killed, the collector takes it along as well, and the next one starts on what is there.
  unlink((state() + "/ready").c_str());
  Running again(arguments, log());
  ASSERT_TRUE(BecomesReady());
  again.Signal(SIGKILL);
  again.Wait(absl::Seconds(10));
  unlink((state() + "/ready").c_str());
  Running third(arguments, log());
  ASSERT_TRUE(BecomesReady());
  third.Signal(SIGTERM);
  EXPECT_EQ(third.Wait(absl::Seconds(10)), 0);
}

// C-104
TEST_F(ProgramTest, ASecondCollectorInTheSameStateDirectoryNamesTheFirst) {
  const std::string dsn = testing::NewDatabase();
  Running collector(Arguments(dsn), log());
  ASSERT_TRUE(BecomesReady());
  const test::ProgramResult second = test::RunProgram(Arguments(dsn));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.output, HasSubstr("process " + std::to_string(collector.pid())));
  EXPECT_EQ(std::count(second.output.begin(), second.output.end(), '\n'), 1) << second.output;
}

TEST_F(ProgramTest, APortInUseIsOneLineThatNamesItAndTheWayOut) {
  const int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  for (const std::string option : {"--listen", "--enroll-listen"}) {
    std::vector<std::string> arguments = Arguments("host=/nonexistent");
    *(std::find(arguments.begin(), arguments.end(), option) + 1) = "127.0.0.1:" + port;
    const test::ProgramResult result = test::RunProgram(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.output, HasSubstr("port " + port + " is in use"));
    EXPECT_THAT(result.output, HasSubstr(option + " HOST:PORT"));
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
  }
  close(taken);
}

// C-179
TEST_F(ProgramTest, APasswordOnTheCommandLineIsRefusedAndNeverPrinted) {
  const test::ProgramResult result = test::RunProgram(Arguments("postgres://u:s3cret@127.0.0.1:1/db"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("u:***@"));
  EXPECT_THAT(result.output, Not(HasSubstr("s3cret")));
}

// C-179
TEST_F(ProgramTest, APasswordInTheConfigurationIsRefusedAndNeverPrinted) {
  const std::string config = directory_.path() + "/collector.textproto";
  std::ofstream(config) << "database: \"host=127.0.0.1 user=u password=s3cret\"\n";
  const test::ProgramResult result = test::RunProgram({Program(), "--state-dir", state(), "--config", config});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("~/.pgpass"));
  EXPECT_THAT(result.output, Not(HasSubstr("s3cret")));
}

// C-117
TEST_F(ProgramTest, WaitsForADatabaseThatIsNotThereYet) {
  Running collector(Arguments("host=127.0.0.1 port=1 user=u dbname=db"), log());
  const absl::Time give_up = absl::Now() + absl::Seconds(30);
  while (Contents(log()).find("waiting for the database") == std::string::npos && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_THAT(Contents(log()), HasSubstr("waiting for the database")) << "it stays up";
  collector.Signal(SIGTERM);
  EXPECT_EQ(collector.Wait(absl::Seconds(10)), 0);
}

TEST_F(ProgramTest, WrongUsageIsTwo) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--bogus"},
                                                    {"join"},
                                                    {"join", "garbage"},
                                                    {"start", "--listen", "nonsense:port"},
                                                    {"frobnicate"},
                                                    {"--config", "/nonexistent/file"}}) {
    std::vector<std::string> command = {Program(), "--state-dir", state()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const test::ProgramResult result = test::RunProgram(command);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
  }
  EXPECT_EQ(test::RunProgram({Program(), "--help"}).exit_code, 0);
}

}  // namespace
}  // namespace fleetmark::collector
