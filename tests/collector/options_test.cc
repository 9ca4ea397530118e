#include "collector/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_directory.h"

namespace fleetmark::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Flags FlagsOf(const std::string& config_file = "") {
  Flags flags;
  flags.config_file = config_file;
  return flags;
}

TEST(OptionsTest, CommandLineWinsOverTheFileAndTheFileOverTheDefaults) {
  const test::TempDirectory directory;
  test::WriteFile(directory / "c",
                  "listen: \"10.0.0.1:1\" enroll_listen: \"10.0.0.1:2\" largest_batch: \"4KiB\" "
                  "advertise: \"attic\"");
  Flags flags = FlagsOf(directory / "c");
  flags.listen = "127.0.0.1:0";
  const absl::StatusOr<CollectorOptions> options = MakeOptions(flags, "1.2");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->listen, "127.0.0.1:0");
  EXPECT_EQ(options->enroll_listen, "10.0.0.1:2");
  EXPECT_EQ(options->largest_batch_bytes, 4096U);
  EXPECT_THAT(options->advertise, ElementsAre("attic"));
  EXPECT_EQ(MakeOptions(FlagsOf(), "1.2")->largest_batch_bytes, 256U << 10);
}

TEST(OptionsTest, BatchOutsideWhatTheProtocolAllowsIsRefusedWithTheRange) {
  for (const char* wrong : {"1023", "1048577", "2MiB", "many", "-1"}) {
    Flags flags;
    flags.largest_batch = wrong;
    const absl::Status status = MakeOptions(flags, "").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--largest-batch")) << wrong;
  }
  for (const char* right : {"1KiB", "1MiB", "65536"}) {
    Flags flags;
    flags.largest_batch = right;
    EXPECT_TRUE(MakeOptions(flags, "").ok()) << right;
  }
}

TEST(OptionsTest, PasswordOnTheCommandLineIsRefusedAndNotRepeated) {
  for (const char* dsn : {"host=x password=tell", "postgresql://u:tell@x/db"}) {
    Flags flags;
    flags.database = dsn;
    const absl::Status status = MakeOptions(flags, "").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(status.message()).find("tell"), std::string::npos) << status;
  }
}

TEST(OptionsTest, FileWithAMistakeIsRefusedWithItsPlace) {
  const test::TempDirectory directory;
  test::WriteFile(directory / "c", "listen: \"a\"\nlitsen: \"b\"\n");
  const absl::Status status = MakeOptions(FlagsOf(directory / "c"), "").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(":2:"));
}

}  // namespace
}  // namespace fleetmark::collector
