#include "common/parameters/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fleetmark {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::ParameterDescriptor Describe(const std::string& name, v1::ParameterType type) {
  v1::ParameterDescriptor descriptor;
  descriptor.set_name(name);
  descriptor.set_type(type);
  return descriptor;
}

v1::WorkloadDescriptor Workload() {
  v1::WorkloadDescriptor workload;
  workload.set_name("disk.profile");
  v1::ParameterDescriptor size = Describe("size", v1::PARAMETER_TYPE_BYTES);
  size.set_minimum(1 << 20);
  size.set_maximum(std::ldexp(1, 40));
  size.mutable_default_value()->set_number(1 << 30);
  *workload.add_parameters() = size;
  v1::ParameterDescriptor job = Describe("duration", v1::PARAMETER_TYPE_SECONDS);
  job.mutable_default_value()->set_number(5);
  job.set_minimum(0.1);
  *workload.add_parameters() = job;
  v1::ParameterDescriptor preset = Describe("preset", v1::PARAMETER_TYPE_CHOICE);
  preset.add_choices("default");
  preset.add_choices("nvme");
  preset.mutable_default_value()->set_text("default");
  *workload.add_parameters() = preset;
  *workload.add_parameters() = Describe("mix", v1::PARAMETER_TYPE_FLAG);
  *workload.add_parameters() = Describe("threads", v1::PARAMETER_TYPE_COUNT);
  *workload.add_parameters() = Describe("share", v1::PARAMETER_TYPE_RATIO);
  return workload;
}

const v1::ParameterDescriptor& Get(const v1::WorkloadDescriptor& workload, const std::string& name) {
  return **FindParameter(workload, name);
}

TEST(ParseParameterTest, ReadsEachTypeAsPeopleWriteIt) {
  const v1::WorkloadDescriptor workload = Workload();
  EXPECT_EQ(ParseParameter(Get(workload, "size"), "2GiB")->number(), std::ldexp(2, 30));
  EXPECT_EQ(ParseParameter(Get(workload, "size"), "2 GB")->number(), 2e9);
  EXPECT_EQ(ParseParameter(Get(workload, "duration"), "250ms")->number(), 0.25);
  EXPECT_EQ(ParseParameter(Get(workload, "threads"), "4k")->number(), 4000);
  EXPECT_EQ(ParseParameter(Get(workload, "share"), "70%")->number(), 0.7);
  EXPECT_TRUE(ParseParameter(Get(workload, "mix"), "yes")->flag());
  EXPECT_FALSE(ParseParameter(Get(workload, "mix"), "false")->flag());
  EXPECT_EQ(ParseParameter(Get(workload, "preset"), "nvme")->text(), "nvme");
}

// C-176
TEST(ParseParameterTest, RefusesWhatIsNotAValueOfTheType) {
  const v1::WorkloadDescriptor workload = Workload();
  for (const char* text : {"1G; rm -rf /", "0x10", "1e308GB", "inf", "nan", "-1GiB", "", "2GiB\n", "$(id)"}) {
    const absl::StatusOr<v1::ParameterValue> value = ParseParameter(Get(workload, "size"), text);
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(value.status().message()), HasSubstr("parameter size")) << text;
    EXPECT_THAT(std::string(value.status().message()), Not(HasSubstr("\n"))) << text;
  }
  EXPECT_FALSE(ParseParameter(Get(workload, "preset"), "exec").ok());
  EXPECT_FALSE(ParseParameter(Get(workload, "mix"), "maybe").ok());
  EXPECT_FALSE(ParseParameter(Get(workload, "duration"), "10").ok());
}

TEST(ParseParameterTest, SaysTheRangeAndTheNearestChoice) {
  const v1::WorkloadDescriptor workload = Workload();
  EXPECT_THAT(std::string(ParseParameter(Get(workload, "size"), "1kB").status().message()),
              HasSubstr("must be between 1 MiB and 1 TiB"));
  EXPECT_THAT(std::string(ParseParameter(Get(workload, "preset"), "nvm").status().message()),
              HasSubstr("did you mean nvme?"));
}

TEST(FormatParameterTest, ReadsBackToTheSameValue) {
  const v1::WorkloadDescriptor workload = Workload();
  const std::pair<const char*, const char*> kCases[] = {
      {"size", "1536 MiB"}, {"size", "1048577 B"}, {"duration", "0.25 s"}, {"threads", "16"},
      {"share", "0.7"},     {"mix", "true"},       {"preset", "nvme"}};
  for (const auto& [name, text] : kCases) {
    const absl::StatusOr<v1::ParameterValue> value = ParseParameter(Get(workload, name), text);
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(FormatParameter(Get(workload, name), *value), text);
  }
}

TEST(ResolveParametersTest, FillsInDefaultsAndLeavesDerivedOnesOut) {
  ParameterMap given;
  given["size"].set_number(2 << 20);
  const absl::StatusOr<ParameterMap> resolved = ResolveParameters(Workload(), given);
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->at("size").number(), 2 << 20);
  EXPECT_EQ(resolved->at("duration").number(), 5);
  EXPECT_FALSE(resolved->contains("threads"));
  EXPECT_EQ(DescribeNonDefaults(Workload(), *resolved), "size=2 MiB");
}

TEST(ResolveParametersTest, RefusesUnknownNamesAndWrongTypes) {
  ParameterMap given;
  given["sise"].set_number(1);
  EXPECT_THAT(std::string(ResolveParameters(Workload(), given).status().message()), HasSubstr("did you mean size?"));
  given.clear();
  given["size"].set_text("2GiB");
  EXPECT_FALSE(ResolveParameters(Workload(), given).ok());
  given["size"].set_number(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(ResolveParameters(Workload(), given).ok());
  given["size"].set_number(1048576.5);
  EXPECT_FALSE(ResolveParameters(Workload(), given).ok());
  given.clear();
  given["threads"].set_number(-1);
  EXPECT_FALSE(ResolveParameters(Workload(), given).ok());
}

TEST(ResolveParametersTest, RefusesWhatIsNoMultiple) {
  v1::WorkloadDescriptor workload = Workload();
  workload.mutable_parameters(0)->set_multiple_of(1 << 20);
  EXPECT_TRUE(ParseParameter(Get(workload, "size"), "17MiB").ok());
  const absl::Status status = ParseParameter(Get(workload, "size"), "17MB").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("size: 17000000 B is not a multiple of 1 MiB"));
  ParameterMap given;
  given["size"].set_number(17e6);
  EXPECT_TRUE(absl::IsInvalidArgument(ResolveParameters(workload, given).status()));
}

TEST(ResolveParametersTest, RefusesParametersThatContradictEachOther) {
  v1::WorkloadDescriptor workload = Workload();
  v1::ParameterDescriptor ramp = Describe("ramp", v1::PARAMETER_TYPE_SECONDS);
  ramp.mutable_default_value()->set_number(1);
  ramp.set_below("duration");
  *workload.add_parameters() = ramp;
  EXPECT_TRUE(ResolveParameters(workload, {}).ok());
  ParameterMap given;
  given["duration"].set_number(0.1);  // below the ramp's default
  const absl::Status status = ResolveParameters(workload, given).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("ramp (1 s) must be below duration (0.1 s)"));
  given["ramp"].set_number(0.1);
  EXPECT_FALSE(ResolveParameters(workload, given).ok()) << "equal is not below";
  given["ramp"].set_number(0);
  EXPECT_TRUE(ResolveParameters(workload, given).ok());
}

TEST(MergeRepetitionRulesTest, WhatIsAskedGoesBeforeTheWorkloadsOwn) {
  v1::RepetitionRule own;
  own.set_least(6);
  own.set_most(15);
  own.set_budget_seconds(300);
  v1::RepetitionRule given;
  EXPECT_EQ(MergeRepetitionRules(own, given)->most(), 15u);
  given.set_exactly(3);
  const absl::StatusOr<v1::RepetitionRule> exactly = MergeRepetitionRules(own, given);
  EXPECT_EQ(exactly->exactly(), 3u);
  EXPECT_FALSE(exactly->has_least() || exactly->has_most() || exactly->has_budget_seconds());
  given.Clear();
  given.set_most(4);
  EXPECT_EQ(MergeRepetitionRules(own, given)->least(), 4u);
  EXPECT_EQ(MergeRepetitionRules(own, given)->budget_seconds(), 300);
}

TEST(MergeRepetitionRulesTest, RefusesContradictions) {
  v1::RepetitionRule given;
  given.set_exactly(0);
  EXPECT_FALSE(MergeRepetitionRules({}, given).ok());
  given.set_exactly(2000);
  EXPECT_FALSE(MergeRepetitionRules({}, given).ok());
  given.set_exactly(3);
  given.set_least(2);
  EXPECT_FALSE(MergeRepetitionRules({}, given).ok());
  given.Clear();
  given.set_least(5);
  given.set_most(4);
  EXPECT_FALSE(MergeRepetitionRules({}, given).ok());
  given.Clear();
  given.set_budget_seconds(std::nan(""));
  EXPECT_FALSE(MergeRepetitionRules({}, given).ok());
}

}  // namespace
}  // namespace fleetmark
