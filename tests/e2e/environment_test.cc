// A German locale, a strange time zone, a strict umask, and directories with a blank and a letter outside
// ASCII change nothing (C-154, C-161).
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <clocale>

#include "absl/strings/str_cat.h"
#include "tests/support/fleet.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_directory.h"

namespace fleetmark::test {
namespace {

using ::testing::IsEmpty;

// $LOCPATH with de_DE.UTF-8, or the reason why there is none.
struct German {
  TempDirectory directory;
  std::string missing;
  German() {
    const ProgramResult made = RunProgram({"localedef", "-i", "de_DE", "-f", "UTF-8", directory / "de_DE.UTF-8"});
    if (made.exit_code != 0) missing = "localedef cannot make de_DE.UTF-8: " + made.output;
  }
};

TEST(Environment, C154LocaleTimeZoneUmaskAndOddDirectoriesChangeNothing) {
  const German german;
  if (!german.missing.empty()) GTEST_SKIP() << german.missing;
  FleetOptions options;
  options.umask = 077;
  options.environment = {{"LC_ALL", "de_DE.UTF-8"}, {"LOCPATH", german.directory.path()}, {"TZ", "Pacific/Chatham"}};
  Fleet fleet(options);
  for (const char* name : {"m\xc3\xbcller", "b"}) fleet.AddHost(name);
  WriteFile(fleet.root() + "/quick.textproto",
            "name: \"disk-quick\"\nversion: 1\nquiet_wait_seconds: 0.5\n"
            "entries { workload: \"disk.profile\"\n"
            "  parameters { key: \"size\" value: \"16MiB\" } parameters { key: \"seconds\" value: \"0.1s\" }\n"
            "  parameters { key: \"ramp\" value: \"0s\" } parameters { key: \"operations\" value: \"readwrite\" }\n"
            "  repetitions { exactly: 2 } }\n"
            "entries { workload: \"host.clock\" }\n");
  EXPECT_EQ(fleet.Cli({"suites", "add", fleet.root() + "/quick.textproto"}).exit_code, 0);
  const Finished run = fleet.Cli({"run", "disk-quick", "--all", "--set", "seconds=0.15s", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.errors << fleet.Logs();
  v1::RunReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(run.output, &report).ok()) << run.output;
  EXPECT_EQ(report.run().state(), v1::RUN_STATE_SUCCEEDED);
  for (const v1::Task& task : report.run().tasks()) {
    if (task.workload() == "disk.profile") {
      EXPECT_DOUBLE_EQ(task.parameters().at("seconds").number(), 0.15);
    }
  }
  // What is printed is what is printed without all that, tables to the byte.
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"compare", "--run", "1"},
                                             {"compare", "--run", "1", "--output", "csv"},
                                             {"compare", "--run", "1", "--json"},
                                             {"runs", "show", "1", "--json"},
                                             {"workloads", "disk.profile", "--output", "csv"}}) {
    const Finished here = fleet.Cli(words);
    Launch plain = fleet.CliLaunch(words);
    plain.environment["LC_ALL"] = "C.UTF-8";
    plain.environment["TZ"] = "UTC";
    const Finished there = RunToEnd(plain);
    EXPECT_EQ(here.exit_code, 0) << here.errors;
    if (words.back() != "--json") {
      EXPECT_EQ(here.output, there.output);
      continue;
    }
    // The order within a map is nobody's promise.
    google::protobuf::Value a, b;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(here.output, &a).ok());
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(there.output, &b).ok());
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(a, b)) << here.output << there.output;
  }
  for (const auto& host : fleet.hosts()) EXPECT_THAT(host->Scratch(), IsEmpty());
  fleet.Stop();
  EXPECT_THAT(fleet.Leftovers(), IsEmpty());
}

}  // namespace
}  // namespace fleetmark::test
