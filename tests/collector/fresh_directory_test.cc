#include "collector/fresh_directory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_directory.h"

namespace fleetmark::collector {
namespace {

TEST(FreshDirectoryTest, WhatWasNotThereGoesAgain) {
  const test::TempDirectory root;
  const std::string state = root / "a/b";
  {
    const FreshDirectory fresh(state, {"lock"});
    test::WriteFile(state + "/lock", "1");
  }
  EXPECT_FALSE(std::filesystem::exists(root / "a"));
  EXPECT_TRUE(std::filesystem::exists(root.path()));
}

TEST(FreshDirectoryTest, WhatWasThereAndWhatHoldsSomethingStays) {
  const test::TempDirectory root;
  const std::string state = root / "a";
  test::WriteFile(state + "/lock", "1");
  { const FreshDirectory fresh(state, {"lock"}); }
  EXPECT_TRUE(std::filesystem::exists(state + "/lock"));
  const std::string other = root / "b";
  {
    const FreshDirectory fresh(other, {"lock"});
    test::WriteFile(other + "/lock", "1");
    test::WriteFile(other + "/results", "1");
  }
  EXPECT_FALSE(std::filesystem::exists(other + "/lock"));
  EXPECT_TRUE(std::filesystem::exists(other + "/results"));
}

TEST(FreshDirectoryTest, WhatSucceededIsKept) {
  const test::TempDirectory root;
  const std::string state = root / "a";
  {
    FreshDirectory fresh(state, {"lock"});
    test::WriteFile(state + "/lock", "1");
    fresh.Keep();
  }
  EXPECT_TRUE(std::filesystem::exists(state + "/lock"));
}

}  // namespace
}  // namespace fleetmark::collector
