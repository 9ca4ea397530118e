#include "collector/analysis/asked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetmark::collector {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CheckAskedTest : public ::testing::Test {
 protected:
  void Measured(const std::string& host, const std::string& target) {
    ResultRow& row = results_.rows.emplace_back();
    row.host_name = host;
    row.target = target;
    row.workload = target.empty() ? "memory.stream" : "disk.profile";
  }
  void Skipped(const std::string& host, const std::string& target) {
    TaskNote& note = results_.notes.emplace_back();
    note.run = 3;
    note.host_name = host;
    note.target = target;
    note.workload = "disk.profile";
    note.state = v1::TASK_STATE_SKIPPED;
    note.reason = "target is in memory";
  }
  void AskTarget(const std::string& target, const std::string& host = "") {
    v1::TargetChoice& choice = options_.targets.emplace_back();
    choice.set_target(target);
    choice.set_host(host);
  }
  std::string Refusal() const {
    const absl::Status status = CheckAsked(results_, options_);
    EXPECT_EQ(status.code(), status.ok() ? absl::StatusCode::kOk : absl::StatusCode::kNotFound);
    return std::string(status.message());
  }

  ResultSet results_;
  ComparisonOptions options_;
};

TEST_F(CheckAskedTest, WhatWasMeasuredIsFound) {
  Measured("mac", "ssd");
  Measured("mac", "");
  EXPECT_EQ(Refusal(), "");
  AskTarget("ssd");
  AskTarget("ssd", "mac");
  EXPECT_EQ(Refusal(), "");
}

TEST_F(CheckAskedTest, ATargetNobodyHasIsNamedWithTheNearest) {
  Measured("mac", "default");
  Measured("mac", "");
  AskTarget("defualt");
  EXPECT_EQ(Refusal(), "no results of target \"defualt\"; did you mean \"default\"?");
  options_.targets.clear();
  AskTarget("zz9");
  EXPECT_EQ(Refusal(), "no results of target \"zz9\"; there are some of default");
}

TEST_F(CheckAskedTest, EveryTargetThatIsNamedMustHaveResults) {
  Measured("mac", "ssd");
  Measured("thinkpad", "data");
  AskTarget("ssd");
  AskTarget("ssd", "thinkpad");
  EXPECT_THAT(Refusal(), HasSubstr("no results of target \"ssd\" on thinkpad; there are some of data"));
}

TEST_F(CheckAskedTest, ATargetWithoutResultsIsRefusedWithTheReason) {
  Measured("mac", "ssd");
  Skipped("mac", "ram");
  AskTarget("ram");
  EXPECT_THAT(Refusal(),
              AllOf(HasSubstr("no results of target \"ram\""),
                    HasSubstr("mac ram, disk.profile: skipped: target is in memory"), HasSubstr("--target")));
}

TEST_F(CheckAskedTest, NoResultsAtAllAreNotFound) {
  EXPECT_EQ(Refusal(), "nothing matched: no results yet; `fleetmark run quick` makes some");
  options_.runs = {3};
  Skipped("mac", "ram");
  Skipped("thinkpad", "ram");
  EXPECT_EQ(Refusal(),
            "run 3 has no results to compare: mac ram, disk.profile: skipped: target is in memory, and 1 more; "
            "`fleetmark runs show 3` lists the tasks");
  options_.runs = {3, 4};
  EXPECT_THAT(Refusal(), HasSubstr("runs 3, 4 have no results"));
}

}  // namespace
}  // namespace fleetmark::collector
