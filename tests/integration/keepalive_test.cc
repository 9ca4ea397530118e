// C-131: pings of an idle connection must never be too many for our own server, and an agent that is told so anyway
// pings less often instead of dialling again at once.
//
// Real link, real collector. Twenty times as fast as it is: the link pings each second instead of each 20 s, and what
// the collector was built with (which is looked at) is changed from one ping in 5 s to one in 250 ms. A second
// collector, unchanged, is the clock and the proof that pings flow: it ends the connection of a link that pings each
// second.
#include <gmock/gmock.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <map>

#include "agent/connection/agent_link.h"
#include "common/enroll/enroll_client.h"
#include "common/rpc/credentials.h"
#include "tests/integration/support/fleet_fixture.h"
#include "tests/integration/support/scripted_agent.h"

namespace fleetmark::collector {
namespace {

using ::testing::HasSubstr;

constexpr int kFaster = 20;

// Sees the arguments of every server of this process, after all of its own settings, and may change them.
class ServerArguments : public grpc::ServerBuilderPlugin {
 public:
  static void Install() {
    static const bool once = (grpc::ServerBuilder::InternalAddPluginFactory(
                                  [] { return std::unique_ptr<grpc::ServerBuilderPlugin>(new ServerArguments); }),
                              true);
    static_cast<void>(once);
  }
  static inline bool speed_up = false;
  static inline std::map<std::string, int> last;  // of the last server that was sped up, as it was

  std::string name() override { return "arguments"; }
  void InitServer(grpc::ServerInitializer*) override {}
  void Finish(grpc::ServerInitializer*) override {}
  void ChangeArguments(const std::string&, void*) override {}
  void UpdateChannelArguments(grpc::ChannelArguments* arguments) override {
    if (!speed_up) return;
    last.clear();
    const grpc_channel_args all = arguments->c_channel_args();
    for (size_t i = 0; i < all.num_args; ++i) {
      grpc_arg& one = all.args[i];
      if (one.type != GRPC_ARG_INTEGER) continue;
      last[one.key] = one.value.integer;
      // In its place: of two equal keys gRPC takes the first.
      if (one.key == std::string(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS)) one.value.integer /= kFaster;
    }
  }
};

// An agent that has nothing to say.
class IdleAgent : public agent::LinkListener {
 public:
  // Enrols with `fleet`.
  IdleAgent(TestCollector& fleet, const std::string& name) : name_(name) {
    EnrollOptions enroll;
    enroll.line = fleet.Invite(v1::INVITE_KIND_HOST);
    enroll.kind = IdentityKind::kHost;
    enroll.reported_name = name;
    enroll.files = {directory_ / "ca.pem", directory_ / "host.pem", directory_ / "host.key"};
    const absl::StatusOr<EnrolledIdentity> enrolled = EnrollWithLine(enroll);
    EXPECT_TRUE(enrolled.ok()) << enrolled.status();
    options_.identity = enroll.files;
    options_.collectors = {fleet.address()};
    options_.backoff.initial = absl::Milliseconds(10);
  }
  ~IdleAgent() override {
    if (link_) link_->Shutdown(absl::Seconds(5));
  }

  agent::AgentLink::Options& options() { return options_; }
  void Start() {
    link_ = agent::AgentLink::Create(options_, {.listener = this, .clock = nullptr, .random = nullptr});
    link_->Start();
  }
  bool connected() const { return link_->connected(); }
  int welcomes() const { return welcomes_; }
  int disconnects() const { return disconnects_; }

  v1::Hello MakeHello() override {
    v1::Hello hello;
    hello.set_host_name(name_);
    hello.set_boot_id("boot-" + name_);
    hello.set_session_id("session-" + name_);
    return hello;
  }
  void OnWelcome(const v1::Welcome&) override { ++welcomes_; }
  void OnDisconnect() override { ++disconnects_; }
  void OnStartTask(const v1::StartTask&) override {}
  void OnCancelTask(const v1::CancelTask&) override {}
  void OnRemoved() override {}
  absl::StatusOr<agent::Spool::Batch> ReadRecords(uint64_t, size_t) override { return agent::Spool::Batch(); }
  absl::Status Acknowledge(const v1::Ack&) override { return absl::OkStatus(); }
  v1::AgentStatus OnHeartbeat() override { return v1::AgentStatus(); }
  bool IfDiskIsFree(const std::function<void()>& work) override {
    work();
    return true;
  }

 private:
  const std::string name_;
  test::TempDirectory directory_;
  agent::AgentLink::Options options_;
  std::atomic<int> welcomes_{0}, disconnects_{0};
  std::unique_ptr<agent::AgentLink> link_;
};

bool Patiently(const std::function<bool()>& condition) {
  for (int i = 0; i < 6; ++i) {
    if (Eventually(condition)) return true;
  }
  return false;
}

TEST(KeepaliveTest, AnIdleLinkIsNeverTooEagerAndOneThatIsLearnsIt) {
  ServerArguments::Install();
  TestCollector fast(testing::NewDatabase()), real(testing::NewDatabase());
  ServerArguments::speed_up = true;
  ASSERT_TRUE(fast.Start());
  ServerArguments::speed_up = false;
  ASSERT_TRUE(real.Start());

  IdleAgent idle(fast, "idle"), eager(real, "eager");
  ASSERT_EQ(idle.options().keepalive, kKeepalive);
  idle.options().keepalive = eager.options().keepalive = kKeepalive / kFaster;
  ::testing::internal::CaptureStderr();
  idle.Start();
  eager.Start();
  // Its pings come every second, then every two. Meanwhile the idle link has sent nine of them, where three are enough.
  const bool first = Patiently([&] { return eager.disconnects() >= 1 && eager.welcomes() >= 2; });
  const bool second = Patiently([&] { return eager.disconnects() >= 2 && eager.welcomes() >= 3; });
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(first && second) << eager.disconnects() << " ends; " << log;
  EXPECT_THAT(log, HasSubstr("pings too frequent; they come every 2s from now on"));
  EXPECT_THAT(log, HasSubstr("pings too frequent; they come every 4s from now on"));

  EXPECT_TRUE(idle.connected());
  EXPECT_EQ(idle.welcomes(), 1) << "one connection all the time";
  EXPECT_EQ(idle.disconnects(), 0);
}

// What the collector was really built with.
TEST(KeepaliveTest, TheCollectorsServerTakesThePingsOfItsAgents) {
  ServerArguments::Install();
  TestCollector collector(testing::NewDatabase());
  ServerArguments::speed_up = true;
  ASSERT_TRUE(collector.Start());
  ServerArguments::speed_up = false;
  const std::map<std::string, int> arguments = ServerArguments::last;
  const agent::AgentLink::Options link;
  EXPECT_LE(arguments.at(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS),
            absl::ToInt64Milliseconds(link.keepalive / 2));
  EXPECT_EQ(arguments.at(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS), 1);
  EXPECT_EQ(arguments.at(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA), 0);
}

}  // namespace
}  // namespace fleetmark::collector
