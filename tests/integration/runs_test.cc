// Runs, from the command to the table, with agents that do what the test says.
#include <gmock/gmock.h>

#include "tests/integration/support/fleet_fixture.h"
#include "tests/integration/support/scripted_agent.h"

namespace fleetmark::collector {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using Stub = v1::FleetService::Stub;

class RunsTest : public FleetTest {
 protected:
  grpc::Status Create(const v1::CreateRunRequest& request, v1::CreateRunResponse& response) {
    return Call(one_.admin(), &Stub::CreateRun, request, response);
  }

  v1::Run CreateRun(const std::string& suite = "host.clock", bool serial = false) {
    v1::CreateRunRequest request;
    request.set_suite(suite);
    request.set_all_hosts(true);
    request.set_serial(serial);
    v1::CreateRunResponse response;
    const grpc::Status status = Create(request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.run();
  }

  v1::Run GetRun(RunId id) {
    v1::GetRunRequest request;
    request.set_run_id(id);
    v1::GetRunResponse response;
    EXPECT_TRUE(Call(one_.admin(), &Stub::GetRun, request, response).ok());
    return response.run();
  }

  grpc::Status Cancel(RunId id) {
    v1::CancelRunRequest request;
    request.set_run_id(id);
    v1::CancelRunResponse response;
    return Call(one_.admin(), &Stub::CancelRun, request, response);
  }
};

TEST_F(RunsTest, MeasuresOnEveryHostAndCompares) {
  ScriptedAgent a(one_, "mac-pro"), b(one_, "thinkpad");
  ASSERT_TRUE(a.Join(one_));
  ASSERT_TRUE(b.Join(one_));
  const v1::Run run = CreateRun("disk.profile");
  EXPECT_EQ(run.tasks_size(), 2);
  EXPECT_THAT(run.created_by(), ::testing::Not(""));
  const auto start = a.PerformTask(3, 100);
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->target(), "default");
  EXPECT_EQ(start->repetition_rule().exactly(), 3u);
  ASSERT_TRUE(b.PerformTask(3, 200).has_value());
  EXPECT_TRUE(Eventually([&] { return GetRun(run.id()).state() == v1::RUN_STATE_SUCCEEDED; }));
  EXPECT_EQ(Cancel(run.id()).error_code(), grpc::StatusCode::FAILED_PRECONDITION) << "it is over";

  v1::CompareRequest request;
  request.add_hosts("mac-pro");
  request.add_hosts("thinkpad");
  v1::CompareResponse response;
  const grpc::Status status = Call(one_.admin(), &Stub::Compare, request, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.columns_size(), 2);
  ASSERT_EQ(response.rows_size(), 1) << response.DebugString();
  EXPECT_DOUBLE_EQ(response.rows(0).cells(0).median(), 102);
  EXPECT_DOUBLE_EQ(response.rows(0).cells(1).median(), 202);
  EXPECT_TRUE(response.rows(0).cells(1).best());
  EXPECT_TRUE(response.rows(0).cells(0).has_latency_p50_seconds());
}

TEST_F(RunsTest, AMisspeltNameCreatesNothing) {
  ScriptedAgent agent(one_, "mac-pro");
  ASSERT_TRUE(agent.Join(one_));
  const auto expect = [&](const std::function<void(v1::CreateRunRequest&)>& change, grpc::StatusCode code,
                          const std::string& text) {
    v1::CreateRunRequest request;
    request.set_suite("host.clock");
    request.add_hosts("mac-pro");
    change(request);
    v1::CreateRunResponse response;
    const grpc::Status status = Create(request, response);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(text));
  };
  expect([](auto& r) { r.set_suite("host.clok"); }, grpc::StatusCode::NOT_FOUND, "did you mean \"host.clock\"?");
  expect([](auto& r) { r.add_hosts("mac-por"); }, grpc::StatusCode::NOT_FOUND, "mac-pro");
  expect([](auto& r) { r.add_targets()->set_target("nowhere"); }, grpc::StatusCode::NOT_FOUND, "nowhere");
  expect([](auto& r) { (*r.mutable_parameters())["sise"] = "1"; }, grpc::StatusCode::INVALID_ARGUMENT, "size");
  expect([](auto& r) { (*r.mutable_parameters())["size"] = "1 parsec"; }, grpc::StatusCode::INVALID_ARGUMENT, "parsec");
  expect([](auto& r) { r.set_request_key("1"); }, grpc::StatusCode::INVALID_ARGUMENT, "UUID");
  expect([](auto& r) { r.clear_hosts(); }, grpc::StatusCode::INVALID_ARGUMENT, "--hosts");
  expect(
      [](auto& r) {
        r.clear_hosts();
        (*r.mutable_where())["room"] = "attic";
      },
      grpc::StatusCode::NOT_FOUND, "nothing matched");
  v1::ListRunsResponse runs;
  ASSERT_TRUE(Call(one_.admin(), &Stub::ListRuns, v1::ListRunsRequest(), runs).ok());
  EXPECT_EQ(runs.runs_size(), 0);
}

// A collector that is cut off after it has made the run: the cli asks the next one, with the same key.
TEST_F(RunsTest, ARequestMadeAgainIsTheSameRun) {
  ScriptedAgent agent(one_, "mac-pro");
  ASSERT_TRUE(agent.Join(one_));
  v1::CreateRunRequest request;
  request.set_suite("host.clock");
  request.set_all_hosts(true);
  request.set_request_key("22222222-2222-4222-8222-222222222222");
  v1::CreateRunResponse first, second;
  ASSERT_TRUE(Create(request, first).ok());
  ASSERT_TRUE(Create(request, second).ok());
  EXPECT_EQ(first.run().id(), second.run().id());
  v1::ListRunsResponse runs;
  ASSERT_TRUE(Call(one_.admin(), &Stub::ListRuns, v1::ListRunsRequest(), runs).ok());
  EXPECT_EQ(runs.runs_size(), 1);
}

TEST_F(RunsTest, ATaskWaitsForAHostThatIsAway) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  agent.Cut();
  ASSERT_TRUE(Eventually([&] {
    v1::GetHostRequest request;
    request.set_host("a");
    v1::GetHostResponse response;
    return Call(one_.admin(), &Stub::GetHost, request, response).ok() && !response.host().connected();
  }));
  v1::CreateRunRequest request;
  request.set_suite("host.clock");
  request.add_hosts("a");
  v1::CreateRunResponse response;
  ASSERT_TRUE(Create(request, response).ok());
  EXPECT_THAT(std::vector<std::string>(response.warnings().begin(), response.warnings().end()),
              Contains(HasSubstr("not connected")));
  EXPECT_THAT(response.run().tasks(0).reason(), HasSubstr("not connected"));
  ASSERT_TRUE(agent.Join(one_));
  EXPECT_TRUE(agent.PerformTask().has_value());
}

// C-093
TEST_F(RunsTest, ACancelReachesTheAgentAtOnce) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  const v1::Run run = CreateRun();
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  std::vector<v1::Record> records = ScriptedAgent::RecordsOf(start->start(), 1);
  ASSERT_TRUE(agent.SendRecords({records[0]}));
  ASSERT_TRUE(Cancel(run.id()).ok());
  const auto cancel = agent.Await(v1::CollectorMessage::kCancel, absl::Seconds(2));
  ASSERT_TRUE(cancel.has_value());
  EXPECT_EQ(cancel->cancel().task_id(), start->start().task_id());
  v1::Record finished = records.back();
  finished.mutable_id()->set_sequence(2);
  finished.mutable_finished()->set_outcome(v1::TASK_OUTCOME_CANCELLED);
  ASSERT_TRUE(agent.SendRecords({finished}));
  EXPECT_TRUE(Eventually([&] { return GetRun(run.id()).state() == v1::RUN_STATE_CANCELLED; }));
  EXPECT_TRUE(Cancel(run.id()).ok()) << "asked again after a lost answer";
}

TEST_F(RunsTest, ATemporaryRefusalIsNotAskedAgainAtOnce) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  CreateRun();
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  v1::AgentMessage refused;
  refused.mutable_refused()->set_task_id(start->start().task_id());
  refused.mutable_refused()->set_attempt(start->start().attempt());
  refused.mutable_refused()->set_reason("the spool is full");
  refused.mutable_refused()->set_temporary(true);
  ASSERT_TRUE(agent.Send(refused));
  EXPECT_FALSE(agent.Await(v1::CollectorMessage::kStart, absl::Seconds(5)).has_value());
  // The agent says that it can again.
  v1::AgentMessage status;
  status.mutable_status();
  ASSERT_TRUE(agent.Send(status));
  EXPECT_TRUE(agent.Await(v1::CollectorMessage::kStart).has_value());
}

TEST_F(RunsTest, ARefusalIsASkippedTaskWithItsReason) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  const v1::Run run = CreateRun();
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  v1::AgentMessage refused;
  refused.mutable_refused()->set_task_id(start->start().task_id());
  refused.mutable_refused()->set_attempt(start->start().attempt());
  refused.mutable_refused()->set_reason("workloads: \"disk.*\" allows no host.clock");
  ASSERT_TRUE(agent.Send(refused));
  EXPECT_TRUE(Eventually([&] { return GetRun(run.id()).tasks(0).state() == v1::TASK_STATE_SKIPPED; }));
  EXPECT_THAT(GetRun(run.id()).tasks(0).reason(), HasSubstr("allows no host.clock"));
}

TEST_F(RunsTest, ASerialRunMeasuresOnOneHostAtATime) {
  ScriptedAgent a(one_, "a"), b(one_, "b");
  ASSERT_TRUE(a.Join(one_));
  ASSERT_TRUE(b.Join(one_));
  const v1::Run run = CreateRun("host.clock", /*serial=*/true);
  ASSERT_TRUE(Eventually([&] {
    const v1::Run now = GetRun(run.id());
    return now.tasks(0).state() == v1::TASK_STATE_ASSIGNED || now.tasks(1).state() == v1::TASK_STATE_ASSIGNED;
  }));
  const bool a_first = GetRun(run.id()).tasks(0).state() == v1::TASK_STATE_ASSIGNED
                           ? GetRun(run.id()).tasks(0).host() == "a"
                           : GetRun(run.id()).tasks(1).host() == "a";
  ScriptedAgent& first = a_first ? a : b;
  ScriptedAgent& second = a_first ? b : a;
  EXPECT_FALSE(second.Await(v1::CollectorMessage::kStart, absl::Seconds(3)).has_value());
  ASSERT_TRUE(first.PerformTask().has_value());
  ASSERT_TRUE(second.PerformTask().has_value());
  EXPECT_TRUE(Eventually([&] { return GetRun(run.id()).state() == v1::RUN_STATE_SUCCEEDED; }));
}

// C-130: nothing that runs is started again, nothing is lost.
TEST_F(RunsTest, ACollectorRestartedInTheMiddleGoesOnWhereItWas) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  const v1::Run run = CreateRun();
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  const std::vector<v1::Record> records = ScriptedAgent::RecordsOf(start->start(), 3);
  ASSERT_TRUE(agent.SendRecords({records[0], records[1]}));
  ASSERT_TRUE(agent.Await(v1::CollectorMessage::kAck).has_value());

  one_.Stop();
  EXPECT_EQ(agent.AwaitEnd().error_code(), grpc::StatusCode::UNAVAILABLE);
  ASSERT_TRUE(one_.Start());
  EXPECT_EQ(GetRun(run.id()).state(), v1::RUN_STATE_RUNNING);
  v1::UnfinishedTask& unfinished = *agent.hello().add_unfinished();
  unfinished.set_task_id(start->start().task_id());
  unfinished.set_attempt(start->start().attempt());
  unfinished.set_state(v1::UNFINISHED_STATE_RUNNING);
  unfinished.set_highest_sequence(2);
  ASSERT_TRUE(agent.Join(one_));
  EXPECT_FALSE(agent.Await(v1::CollectorMessage::kStart, absl::Seconds(3)).has_value()) << "started again";
  ASSERT_TRUE(agent.SendRecords({records.begin() + 2, records.end()}));
  EXPECT_TRUE(Eventually([&] { return GetRun(run.id()).state() == v1::RUN_STATE_SUCCEEDED; }));
  EXPECT_EQ(GetRun(run.id()).tasks(0).attempt(), 1u);
}

// C-106
TEST_F(RunsTest, AnAgentThatWasKilledGetsTheTaskAgain) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  const v1::Run run = CreateRun();
  const auto start = agent.Await(v1::CollectorMessage::kStart);
  ASSERT_TRUE(start.has_value());
  ASSERT_TRUE(agent.Accept(start->start()));
  agent.Cut();
  agent.hello().set_session_id("after the restart");
  v1::UnfinishedTask& unfinished = *agent.hello().add_unfinished();
  unfinished.set_task_id(start->start().task_id());
  unfinished.set_attempt(start->start().attempt());
  unfinished.set_state(v1::UNFINISHED_STATE_INTERRUPTED);
  ASSERT_TRUE(agent.Join(one_));
  agent.hello().clear_unfinished();
  const auto again = agent.PerformTask();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->attempt(), 2u);
  EXPECT_TRUE(Eventually([&] { return GetRun(run.id()).state() == v1::RUN_STATE_SUCCEEDED; }));
}

TEST_F(RunsTest, RolesAreKept) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  const auto viewer = one_.Person("vera", v1::ROLE_VIEWER);
  const auto operators = one_.Person("oskar", v1::ROLE_OPERATOR);
  v1::CreateRunRequest run;
  run.set_suite("host.clock");
  run.set_all_hosts(true);
  v1::CreateRunResponse created;
  grpc::Status status = Call(*viewer, &Stub::CreateRun, run, created);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("needs the role operator"), HasSubstr("vera is viewer")));
  v1::ListHostsResponse hosts;
  EXPECT_TRUE(Call(*viewer, &Stub::ListHosts, v1::ListHostsRequest(), hosts).ok());
  status = Call(*operators, &Stub::CreateRun, run, created);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(created.run().created_by(), "oskar");
  v1::CreateInviteResponse invite;
  EXPECT_EQ(Call(*operators, &Stub::CreateInvite, v1::CreateInviteRequest(), invite).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(RunsTest, SuitesAreAddedAndListed) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  v1::AddSuiteRequest request;
  request.set_file_name("mine.textproto");
  request.set_text("name: \"mine\"\nversion: 1\nentries { workload: \"host.clok\" }\n");
  v1::AddSuiteResponse response;
  grpc::Status status = Call(one_.admin(), &Stub::AddSuite, request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("did you mean \"host.clock\"?"));
  request.set_text("name: \"mine\"\nversion: 1\nentries { workload: \"host.clock\" }\n");
  status = Call(one_.admin(), &Stub::AddSuite, request, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(CreateRun("mine").suite(), "mine");
  EXPECT_TRUE(agent.PerformTask().has_value());
}

// C-182
TEST_F(RunsTest, NamesAndLabelsAreOnlyText) {
  ScriptedAgent agent(one_, "a");
  ASSERT_TRUE(agent.Join(one_));
  v1::LabelHostRequest label;
  label.set_host("a");
  (*label.mutable_set())["room"] = "'; drop table fleetmark.run;--";
  v1::LabelHostResponse labelled;
  ASSERT_TRUE(Call(one_.admin(), &Stub::LabelHost, label, labelled).ok());
  EXPECT_EQ(labelled.host().labels().at("room"), "'; drop table fleetmark.run;--");
  (*label.mutable_set())["room"] = "two\nlines";
  EXPECT_EQ(Call(one_.admin(), &Stub::LabelHost, label, labelled).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::RenameHostRequest rename;
  rename.set_host("a");
  rename.set_new_name("a\x1b[31m");
  v1::RenameHostResponse renamed;
  EXPECT_EQ(Call(one_.admin(), &Stub::RenameHost, rename, renamed).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  rename.set_new_name("attic");
  ASSERT_TRUE(Call(one_.admin(), &Stub::RenameHost, rename, renamed).ok());
  EXPECT_EQ(renamed.host().name(), "attic");
}

}  // namespace
}  // namespace fleetmark::collector
