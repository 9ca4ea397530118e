#include "collector/scheduler/run_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetmark::collector {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::WorkloadDescriptor Disk() {
  v1::WorkloadDescriptor workload;
  workload.set_name("disk.profile");
  workload.set_version(1);
  workload.set_needs_target(true);
  workload.set_writes(true);
  v1::ParameterDescriptor& size = *workload.add_parameters();
  size.set_name("size");
  size.set_type(v1::PARAMETER_TYPE_BYTES);
  size.set_role(v1::PARAMETER_ROLE_IDENTITY);
  size.mutable_default_value()->set_number(1 << 30);
  size.set_minimum(1 << 20);
  size.set_maximum(1e12);
  workload.mutable_repetition_rule()->set_least(6);
  workload.mutable_repetition_rule()->set_most(15);
  return workload;
}

v1::WorkloadDescriptor Memory() {
  v1::WorkloadDescriptor workload;
  workload.set_name("memory.stream");
  workload.set_version(1);
  workload.mutable_repetition_rule()->set_exactly(10);
  return workload;
}

v1::Suite Quick() {
  v1::Suite suite;
  suite.set_name("quick");
  suite.set_version(1);
  suite.set_quiet_wait_seconds(2);
  v1::SuiteEntry& disk = *suite.add_entries();
  disk.set_workload("disk.profile");
  disk.mutable_repetitions()->set_exactly(3);
  suite.add_entries()->set_workload("memory.stream");
  return suite;
}

HostToRun Host(const std::string& name) {
  HostToRun host;
  host.host.set_id("id-" + name);
  host.host.set_name(name);
  host.host.set_connected(true);
  v1::Target& target = *host.host.mutable_inventory()->add_targets();
  target.set_name("default");
  target.set_path("/var/tmp");
  target.set_is_default(true);
  v1::Target& data = *host.host.mutable_inventory()->add_targets();
  data.set_name("data");
  data.set_path("/data");
  host.workloads = {Disk(), Memory()};
  return host;
}

class BuildRunTest : public ::testing::Test {
 protected:
  absl::StatusOr<RunPlan> Build() { return BuildRun(request_, suite_, hosts_, workloads_, "ada"); }

  void ExpectError(absl::StatusCode code, const std::string& text) {
    const absl::StatusOr<RunPlan> plan = Build();
    EXPECT_EQ(plan.status().code(), code) << plan.status();
    EXPECT_THAT(std::string(plan.status().message()), HasSubstr(text));
  }

  void AddTarget(const std::string& host, const std::string& target) {
    v1::TargetChoice& choice = *request_.add_targets();
    choice.set_host(host);
    choice.set_target(target);
  }

  v1::CreateRunRequest request_;
  v1::Suite suite_ = Quick();
  std::vector<HostToRun> hosts_ = {Host("mac"), Host("thinkpad")};
  std::vector<v1::WorkloadDescriptor> workloads_ = {Disk(), Memory()};
};

TEST_F(BuildRunTest, MakesATaskForEachEntryOnEachHost) {
  hosts_[1].host.mutable_labels()->insert({"room", "attic"});
  request_.set_request_key("22222222-2222-4222-8222-222222222222");
  const absl::StatusOr<RunPlan> plan = Build();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->run.suite, "quick");
  EXPECT_EQ(plan->run.created_by, "ada");
  EXPECT_EQ(plan->run.request_key, "22222222-2222-4222-8222-222222222222");
  EXPECT_THAT(plan->warnings, IsEmpty());
  ASSERT_EQ(plan->run.tasks.size(), 4u);
  const NewTask& disk = plan->run.tasks[2];
  EXPECT_EQ(disk.host, "id-thinkpad");
  EXPECT_EQ(disk.labels.at("room"), "attic");
  EXPECT_EQ(disk.position, 0u);
  EXPECT_EQ(disk.target, "default");
  EXPECT_EQ(disk.parameters.at("size").number(), 1 << 30) << "defaults are filled in";
  EXPECT_EQ(disk.repetition_rule.exactly(), 3u);
  EXPECT_EQ(disk.quiet_wait_seconds, 2.0);
  const NewTask& memory = plan->run.tasks[3];
  EXPECT_EQ(memory.position, 1u);
  EXPECT_EQ(memory.target, "");
  EXPECT_EQ(memory.repetition_rule.exactly(), 10u) << "the workload's own rule";
}

TEST_F(BuildRunTest, RepeatIsObeyedExactly) {
  request_.set_repeat(5);
  const absl::StatusOr<RunPlan> plan = Build();
  ASSERT_TRUE(plan.ok());
  for (const NewTask& task : plan->run.tasks) EXPECT_EQ(task.repetition_rule.exactly(), 5u);
  request_.set_repeat(0);
  ExpectError(absl::StatusCode::kInvalidArgument, "--repeat 0");
}

TEST_F(BuildRunTest, TakesParametersWithAndWithoutTheWorkloadsName) {
  for (const std::string name : {"disk.profile.size", "size"}) {
    request_.clear_parameters();
    (*request_.mutable_parameters())[name] = "2GiB";
    const absl::StatusOr<RunPlan> plan = Build();
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->run.tasks[0].parameters.at("size").number(), 2.0 * (1 << 30));
  }
}

TEST_F(BuildRunTest, ABareNameOfTwoWorkloadsIsAmbiguous) {
  *workloads_[1].add_parameters() = Disk().parameters(0);
  (*request_.mutable_parameters())["size"] = "2GiB";
  ExpectError(absl::StatusCode::kInvalidArgument, "write disk.profile.size");
}

// C-176
TEST_F(BuildRunTest, RefusesParametersThatAreNone) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"sise", "2GiB"},
      {"disk.profile.sise", "2GiB"},
      {"disk.other.size", "2GiB"},
      {"size", "1G; rm -rf /"},
      {"size", "-1"},
      {"size", "1e308GB"},
      {"size", "0x10"},
      {"size", "1B"},
      {"size", "999999999TiB"},
      {"size", ""},
      {"", "2GiB"},
  };
  for (const auto& [name, text] : bad) {
    request_.clear_parameters();
    (*request_.mutable_parameters())[name] = text;
    EXPECT_EQ(Build().status().code(), absl::StatusCode::kInvalidArgument) << name << "=" << text;
  }
  request_.clear_parameters();
  (*request_.mutable_parameters())["sise"] = "2GiB";
  ExpectError(absl::StatusCode::kInvalidArgument, "did you mean \"size\"?");
}

TEST_F(BuildRunTest, ChoosesTargetsByHostOrForAll) {
  AddTarget("", "data");
  AddTarget("thinkpad", "default");
  const absl::StatusOr<RunPlan> plan = Build();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->run.tasks[0].target, "data");
  EXPECT_EQ(plan->run.tasks[2].target, "default") << "what names the host goes before what names any";
}

TEST_F(BuildRunTest, TwoTargetsOfAHostAreTwoTasks) {
  AddTarget("mac", "data");
  AddTarget("mac", "default");
  const absl::StatusOr<RunPlan> plan = Build();
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->run.tasks.size(), 5u);
  EXPECT_EQ(plan->run.tasks[0].target, "data");
  EXPECT_EQ(plan->run.tasks[1].target, "default");
  EXPECT_EQ(plan->run.tasks[2].position, 2u);
}

TEST_F(BuildRunTest, AnUnknownTargetAnywhereIsAnErrorBeforeAnything) {
  AddTarget("mac", "dta");
  ExpectError(absl::StatusCode::kNotFound, "did you mean \"data\"?");
  request_.clear_targets();
  AddTarget("", "nowhere");
  ExpectError(absl::StatusCode::kNotFound, "fleetmark disks");
  request_.clear_targets();
  AddTarget("imac", "data");
  ExpectError(absl::StatusCode::kNotFound, "not part of this run");
}

TEST_F(BuildRunTest, AHostWithoutABareTargetIsSkippedTheOthersGoOn) {
  hosts_[1].host.mutable_inventory()->mutable_targets()->RemoveLast();
  AddTarget("", "data");
  const absl::StatusOr<RunPlan> plan = Build();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->run.tasks[0].skipped_because, "");
  EXPECT_THAT(plan->run.tasks[2].skipped_because, HasSubstr("has no target \"data\""));
  EXPECT_EQ(plan->run.tasks[3].skipped_because, "") << "memory needs none";
}

// C-003, C-095
TEST_F(BuildRunTest, WhatCannotBeMeasuredIsSkippedWithItsReason) {
  v1::Target& target = *hosts_[0].host.mutable_inventory()->mutable_targets(0);
  const auto reason = [&] { return Build()->run.tasks[0].skipped_because; };
  target.set_in_memory(true);
  EXPECT_THAT(reason(), HasSubstr("target is in memory"));
  target.set_in_memory(false);
  target.set_read_only(true);
  EXPECT_THAT(reason(), HasSubstr("read-only"));
  target.set_read_only(false);
  target.set_problem("no such directory");
  EXPECT_THAT(reason(), HasSubstr("no such directory"));
  target.clear_problem();
  target.set_memory_backed(true);
  EXPECT_EQ(reason(), "") << "memory-backed is flagged, not refused";
}

TEST_F(BuildRunTest, AnAgentWithoutTheWorkloadSkipsIt) {
  hosts_[1].workloads = {Memory()};
  hosts_[1].host.set_agent_version("0.0.9");
  const absl::StatusOr<RunPlan> plan = Build();
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->run.tasks[2].skipped_because,
              AllOf(HasSubstr("thinkpad"), HasSubstr("does not offer disk.profile")));
  suite_.mutable_entries(0)->set_version(2);
  workloads_[0].set_version(2);
  EXPECT_THAT(Build()->run.tasks[0].skipped_because, HasSubstr("offers disk.profile version 1, not 2"));
}

TEST_F(BuildRunTest, AHostThatIsNotConnectedIsWaitedFor) {
  hosts_[1].host.set_connected(false);
  const absl::StatusOr<RunPlan> plan = Build();
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->warnings, Contains("thinkpad is not connected: its tasks wait for it, at most 1 d (--give-up); "
                                       "start the agent there (fleetmark-agent start)"));
  EXPECT_EQ(plan->run.tasks[2].skipped_because, "");
  request_.set_give_up_seconds(90);
  EXPECT_THAT(Build()->warnings, Contains(HasSubstr("at most 1 min 30 s (--give-up)")));
}

TEST_F(BuildRunTest, AHostThatHasNeverConnectedIsNotWaitedFor) {
  hosts_[1].host.set_connected(false);
  hosts_[1].workloads.clear();
  const absl::StatusOr<RunPlan> plan = Build();
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->warnings, Contains(HasSubstr("thinkpad has never connected: its tasks are skipped")));
  EXPECT_NE(plan->run.tasks[2].skipped_because, "");
}

TEST_F(BuildRunTest, AParameterUnderBothItsNamesIsRefused) {
  (*request_.mutable_parameters())["size"] = "1GiB";
  (*request_.mutable_parameters())["disk.profile.size"] = "2GiB";
  ExpectError(absl::StatusCode::kInvalidArgument, "--set sets 'size' twice");
}

TEST_F(BuildRunTest, NoHostIsNothingMatched) {
  hosts_.clear();
  ExpectError(absl::StatusCode::kNotFound, kNothingMatched);
}

// C-181
TEST_F(BuildRunTest, RefusesAbsurdRequests) {
  request_.set_give_up_seconds(1e300);
  ExpectError(absl::StatusCode::kInvalidArgument, "give-up");
  request_.clear_give_up_seconds();
  request_.set_name(std::string(300, 'x'));
  ExpectError(absl::StatusCode::kInvalidArgument, "name");
}

}  // namespace
}  // namespace fleetmark::collector
