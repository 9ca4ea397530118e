#include "agent/platform/linux/sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_directory.h"

namespace fleetmark::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SysfsTest, ReadsCpuListsAsTheKernelWritesThem) {
  EXPECT_THAT(ParseCpuList("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(ParseCpuList(" 5"), ElementsAre(5));
  EXPECT_THAT(ParseCpuList("\n"), IsEmpty());
  EXPECT_THAT(ParseCpuList("3-1"), IsEmpty());
  EXPECT_THAT(ParseCpuList("1,x,2"), ElementsAre(1));
  EXPECT_THAT(ParseCpuList("0-999999999"), IsEmpty());
}

TEST(SysfsTest, AFileThatIsEmptyOrMissingHasNoNumber) {
  test::TempDirectory directory;
  test::WriteFile(directory / "empty", "");
  test::WriteFile(directory / "max", "max\n");
  test::WriteFile(directory / "minus", "-1\n");
  test::WriteFile(directory / "number", " 42 kB\n");
  EXPECT_FALSE(ReadUnsigned(directory / "empty"));
  EXPECT_FALSE(ReadUnsigned(directory / "max"));
  EXPECT_FALSE(ReadUnsigned(directory / "minus"));
  EXPECT_FALSE(ReadUnsigned(directory / "missing"));
  EXPECT_EQ(ReadUnsigned(directory / "number"), 42u);
  EXPECT_EQ(ReadSigned(directory / "minus"), -1);
  EXPECT_FALSE(ReadTrimmed(directory / "empty"));
  EXPECT_EQ(ReadText(directory / "empty"), "");
}

// C-109
TEST(SysfsTest, CutsTheZeroBytesOfFixedSizeBuffers) {
  test::TempDirectory directory;
  test::WriteFile(directory / "model", std::string("SSD\0\0\0\0", 7));
  EXPECT_EQ(ReadTrimmed(directory / "model"), "SSD");
}

}  // namespace
}  // namespace fleetmark::agent
